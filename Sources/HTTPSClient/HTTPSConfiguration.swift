public import TLS

/// The way in which an ``HTTPSClient`` reaches servers, and its limits.
public struct HTTPSConfiguration: Hashable, Sendable {
    public enum Proxy: Hashable, Sendable {
        /// The proxy that `https_proxy`, `all_proxy` and `no_proxy` name.
        case environment
        case direct
        /// The URL of a proxy, with `http`, `https`, `socks5` or `socks5h`, for every host.
        case url(String)
    }

    /// The authorities that may vouch for servers, and for proxies that speak TLS. If nil, only
    /// servers without TLS can be asked.
    public var authorities: TLSAuthorities?
    public var proxy = Proxy.environment
    /// True if requests may be sent to `http` URLs, without TLS.
    public var allowsPlainHTTP = false
    /// The time for name, connection and TLS together, including those of a proxy.
    public var connectTimeout: Duration = .seconds(5)
    /// The time for a whole request.
    public var timeout: Duration = .seconds(30)
    /// The most bytes in the body of an answer; its head has a limit of its own.
    public var responseByteCountMax = 64 * 1024
    /// The most requests in flight. HTTP/2 carries as many on one connection as the server allows.
    public var inFlightCountMax = 64

    /// The most bytes in all fields of an answer together.
    static let headByteCountMax = 32 * 1024
    /// The connections that are kept for later requests.
    static let idleConnectionCountMax = 4

    public init(authorities: TLSAuthorities?) { self.authorities = authorities }
}

/// libcurl cannot be used: there is no memory, or the library lacks a needed feature.
public struct HTTPSClientError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
}
