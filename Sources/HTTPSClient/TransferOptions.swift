import CCurl
import EventLoop

/// Sets libcurl's options of one transfer, and remembers if it accepted all of them.
@safe
struct TransferOptions {
    private let transfer: UnsafeMutableRawPointer
    private(set) var areSet = true

    init(transfer: UnsafeMutableRawPointer) { unsafe self.transfer = unsafe transfer }

    mutating func check(_ code: CURLcode) { areSet = areSet && code == CURLE_OK }

    mutating func set(_ option: CURLoption, _ pointer: UnsafeMutableRawPointer?) {
        unsafe check(sallyport_curl_pointer(transfer, option, pointer))
    }

    private mutating func set(_ option: CURLoption, number: Int) {
        unsafe check(sallyport_curl_number(transfer, option, number))
    }

    private mutating func set(_ option: CURLoption, text: String?) {
        unsafe check(sallyport_curl_text(transfer, option, text))
    }

    mutating func set(_ request: HTTPSRequest) {
        set(CURLOPT_URL, text: request.url)
        if case .post(let body) = request.method {
            set(CURLOPT_POST, number: 1)
            unsafe check(sallyport_curl_body(transfer, body, body.count))
        }
    }

    mutating func set(_ configuration: HTTPSConfiguration) {
        set(CURLOPT_PROTOCOLS_STR, text: configuration.allowsPlainHTTP ? "http,https" : "https")
        set(CURLOPT_FOLLOWLOCATION, number: 0)
        set(CURLOPT_USERAGENT, text: "sallyport")
        set(CURLOPT_HTTP_VERSION, number: CURL_HTTP_VERSION_2TLS)
        // A request waits to see if a connection that is being made can carry it, too.
        set(CURLOPT_PIPEWAIT, number: 1)
        set(CURLOPT_HTTP09_ALLOWED, number: 0)
        set(CURLOPT_NOSIGNAL, number: 1)
        // libcurl would wait on the loop for a thread that still waits for a name server.
        set(CURLOPT_QUICK_EXIT, number: 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, number: 1)
        set(CURLOPT_CONNECTTIMEOUT_MS, number: Self.milliseconds(configuration.connectTimeout))
        set(CURLOPT_TIMEOUT_MS, number: Self.milliseconds(configuration.timeout))
        let version = CURL_SSLVERSION_TLSv1_2
        for option in [CURLOPT_SSLVERSION, CURLOPT_PROXY_SSLVERSION] {
            set(option, number: version)
        }
        for option in [CURLOPT_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYPEER] {
            set(option, number: 1)
        }
        for option in [CURLOPT_SSL_VERIFYHOST, CURLOPT_PROXY_SSL_VERIFYHOST] {
            set(option, number: 2)
        }
        // The authorities are loaded already; a file would be parsed for each connection.
        for option in [CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH] {
            set(option, text: nil)
        }
        switch configuration.proxy {
        case .environment: break
        case .direct: set(CURLOPT_PROXY, text: "")
        case .url(let url):
            set(CURLOPT_PROXY, text: url)
            // The configured proxy holds for every host, whatever the environment says.
            set(CURLOPT_NOPROXY, text: "")
        }
    }

    /// The milliseconds, at least one because zero stands for libcurl's own default.
    private static func milliseconds(_ duration: Duration) -> Int {
        max(1, Int(min(duration.wholeNanoseconds / 1_000_000, 1 << 30)))
    }
}
