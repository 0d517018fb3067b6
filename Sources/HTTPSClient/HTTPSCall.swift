import CCurl
import EventLoop
import TLS

/// One request on its way. Dropping it changes nothing; ``cancel()`` ends it without a reply.
@safe
public final class HTTPSCall {
    weak var client: HTTPSClient?
    private var handler: ((Result<HTTPSResponse, HTTPSFailure>) -> Void)?
    private var transfer: UnsafeMutableRawPointer?
    private var fieldList: UnsafeMutablePointer<curl_slist>?
    private var errorText: UnsafeMutablePointer<CChar>?
    /// Delays a failure that must not be reported at once.
    private var timer: Timer?
    private var authorities: TLSAuthorities?
    private var head = ResponseHeadReader(byteCountMax: HTTPSConfiguration.headByteCountMax)
    private var body: [UInt8] = []
    private var bodyByteCountMax = 0
    private var isTooLarge = false

    init(_ handler: @escaping (Result<HTTPSResponse, HTTPSFailure>) -> Void) {
        self.handler = handler
    }

    deinit { release() }

    /// Cancels the request. The handler is not called any more.
    public func cancel() {
        handler = nil
        timer = nil
        guard let transfer = unsafe transfer else { return }
        unsafe client?.cancel(transfer)
    }

    // MARK: the course of a call

    /// Sets up libcurl's handle, which belongs to this call for as long as it lives.
    func prepare(
        _ request: HTTPSRequest, _ configuration: HTTPSConfiguration
    ) throws(HTTPSFailure) -> UnsafeMutableRawPointer {
        guard request.fields.allSatisfy(\.isWellFormed) else {
            throw .failed("a field that is none")
        }
        guard let transfer = unsafe curl_easy_init() else { throw .failed("out of memory") }
        unsafe self.transfer = transfer
        authorities = configuration.authorities
        bodyByteCountMax = configuration.responseByteCountMax
        let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe text.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe errorText = text
        var options = unsafe TransferOptions(transfer: transfer)
        options.set(request)
        options.set(configuration)
        for field in request.fields + [HTTPSField("Expect", "")] {
            // Without a value libcurl omits the field, which it would otherwise send by itself.
            let line = field.value.isEmpty ? "\(field.name):" : "\(field.name): \(field.value)"
            guard let longer = unsafe curl_slist_append(fieldList, line) else {
                throw .failed("out of memory")
            }
            unsafe fieldList = longer
        }
        unsafe options.check(sallyport_curl_fields(transfer, fieldList))
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe options.set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(text))
        unsafe options.set(CURLOPT_WRITEDATA, context)
        unsafe options.set(CURLOPT_HEADERDATA, context)
        unsafe options.set(CURLOPT_SSL_CTX_DATA, context)
        unsafe options.check(
            sallyport_curl_receiver(transfer, CURLOPT_WRITEFUNCTION, bodyHasCome))
        unsafe options.check(
            sallyport_curl_receiver(transfer, CURLOPT_HEADERFUNCTION, fieldHasCome))
        unsafe options.check(sallyport_curl_tls_hook(transfer, contextIsMade))
        guard options.areSet else { throw .failed("libcurl lacks an option") }
        return unsafe transfer
    }

    /// Takes the transfer out of `transfers` and frees it.
    func end(in transfers: UnsafeMutableRawPointer) {
        if let transfer = unsafe transfer {
            unsafe curl_multi_remove_handle(transfers, transfer)
        }
        release()
    }

    private func release() {
        if let transfer = unsafe transfer { unsafe curl_easy_cleanup(transfer) }
        unsafe curl_slist_free_all(fieldList)
        unsafe errorText?.deallocate()
        unsafe transfer = nil
        unsafe fieldList = nil
        unsafe errorText = nil
    }

    func end(_ result: Result<HTTPSResponse, HTTPSFailure>) {
        let handler = handler
        self.handler = nil
        timer = nil
        handler?(result)
    }

    /// Fails later, like every other answer, because the caller does not hold this call yet.
    func fail(_ failure: HTTPSFailure, on loop: EventLoop) {
        release()
        // The timer retains the call until it has fired.
        let timer = Timer(loop: loop) { [self] in end(.failure(failure)) }
        self.timer = timer
        timer.schedule(after: .zero)
    }

    // MARK: the answer

    /// The result of the transfer. To be called before ``release()``.
    func result(_ code: CURLcode) -> Result<HTTPSResponse, HTTPSFailure> {
        guard let transfer = unsafe transfer else { return .failure(.closed) }
        guard code == CURLE_OK else { return .failure(failure(code)) }
        let seconds = unsafe sallyport_curl_retry_after(transfer)
        let response = HTTPSResponse(
            status: unsafe sallyport_curl_fact(transfer, CURLINFO_RESPONSE_CODE),
            fields: head.fields, body: body,
            // A date that has passed gives a negative number.
            retryAfter: head.hasRetryAfter ? .seconds(max(0, seconds)) : nil,
            isHTTP2: unsafe sallyport_curl_fact(transfer, CURLINFO_HTTP_VERSION)
                == CURL_HTTP_VERSION_2_0)
        // libcurl takes any end of a connection for the end of such an answer, even one without
        // TLS's close_notify.
        guard response.isHTTP2 || response.tellsItsEnd else {
            return .failure(.cut("an answer that does not state its length"))
        }
        return .success(response)
    }

    private func failure(_ code: CURLcode) -> HTTPSFailure {
        if isTooLarge { return .tooLarge }
        let connectStatus =
            unsafe transfer.map { unsafe sallyport_curl_fact($0, CURLINFO_HTTP_CONNECTCODE) } ?? 0
        if connectStatus >= 300 { return .proxyRefused(connectStatus) }
        var reason = unsafe errorText.map { unsafe String(cString: $0) } ?? ""
        if reason.isEmpty { reason = unsafe String(cString: curl_easy_strerror(code)) }
        switch code {
        case CURLE_OPERATION_TIMEDOUT: return .timedOut
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR: return .untrusted(reason)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT,
            CURLE_SSL_CONNECT_ERROR, CURLE_PROXY:
            return .unreachable(reason)
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR,
            CURLE_HTTP2, CURLE_HTTP2_STREAM:
            return .cut(reason)
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING:
            return .malformed(reason)
        default: return .failed(reason)
        }
    }

    /// Takes a part of the body. False if it is more than is allowed.
    fileprivate func take(body bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.count <= bodyByteCountMax - body.count else {
            isTooLarge = true
            return false
        }
        unsafe body.append(contentsOf: bytes)
        return true
    }

    fileprivate func take(fieldLine bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard unsafe head.take(line: Array(bytes)) else {
            isTooLarge = true
            return false
        }
        return true
    }

    fileprivate func trust(in context: UnsafeMutableRawPointer) {
        unsafe authorities?.use(in: OpaquePointer(context))
    }
}

private func call(_ context: UnsafeMutableRawPointer?) -> HTTPSCall {
    guard let context = unsafe context else { preconditionFailure("a hook without a context") }
    return unsafe Unmanaged<HTTPSCall>.fromOpaque(context).takeUnretainedValue()
}

private func bytes(
    _ start: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int
) -> UnsafeBufferPointer<UInt8> {
    unsafe UnsafeBufferPointer(
        start: UnsafeRawPointer(start)?.assumingMemoryBound(to: UInt8.self), count: size * count)
}

/// Takes a part of the body for libcurl. A return value other than the given count ends the
/// transfer.
private func bodyHasCome(
    _ start: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe call(context).take(body: bytes(start, size, count)) ? size * count : 0
}

private func fieldHasCome(
    _ start: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe call(context).take(fieldLine: bytes(start, size, count)) ? size * count : 0
}

private func contextIsMade(
    _: UnsafeMutableRawPointer?, _ tls: UnsafeMutableRawPointer?,
    _ context: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let tls = unsafe tls else { return CURLE_SSL_CERTPROBLEM }
    unsafe call(context).trust(in: tls)
    return CURLE_OK
}
