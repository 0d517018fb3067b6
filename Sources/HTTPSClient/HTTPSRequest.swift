/// A complete request to another server. Only `https` is allowed, unless the configuration allows
/// `http` too; libcurl is told no other scheme.
public struct HTTPSRequest: Hashable, Sendable {
    public enum Method: Hashable, Sendable {
        case get
        case post(body: [UInt8])
    }

    public var url: String
    public var method: Method
    public var fields: [HTTPSField]

    public init(url: String, method: Method, fields: [HTTPSField] = []) {
        self.url = url
        self.method = method
        self.fields = fields
    }
}

/// A header field. In answers the name is in lower case.
public struct HTTPSField: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// True if name and value cannot end the line and begin another one.
    var isWellFormed: Bool {
        !name.isEmpty && (name + value).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            && !name.utf8.contains { $0 == 0x3A || $0 == 0x20 }
    }
}

/// A complete answer: never one that broke off.
public struct HTTPSResponse: Hashable, Sendable {
    public var status: Int
    public var fields: [HTTPSField]
    public var body: [UInt8]
    /// `Retry-After`, given as seconds or as a date.
    public var retryAfter: Duration?
    public var isHTTP2: Bool

    public init(
        status: Int, fields: [HTTPSField] = [], body: [UInt8] = [], retryAfter: Duration? = nil,
        isHTTP2: Bool = false
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.retryAfter = retryAfter
        self.isHTTP2 = isHTTP2
    }

    /// True if an answer of HTTP/1.1 states its end.
    var tellsItsEnd: Bool {
        [204, 304].contains(status) || field("content-length") != nil
            || field("transfer-encoding") != nil
    }

    /// The value of the first field with that name, which is given in lower case.
    public func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

/// The reason why there is no answer. The texts are for an operator's log.
public enum HTTPSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no address, no connection, or no TLS on it: nothing was sent.
    case unreachable(String)
    /// No trusted authority vouches for the certificate of the server, or of a proxy.
    case untrusted(String)
    /// The proxy refused the request with this status.
    case proxyRefused(Int)
    case timedOut
    /// The connection ended before the answer did.
    case cut(String)
    /// The answer is longer than the limit.
    case tooLarge
    /// The answer is not HTTP.
    case malformed(String)
    /// Too many requests are in flight. Nothing was sent.
    case tooManyInFlight
    /// The client was closed.
    case closed
    case failed(String)

    public var description: String {
        switch self {
        case .unreachable(let reason): "unreachable (\(reason))"
        case .untrusted(let reason): "not trusted (\(reason))"
        case .proxyRefused(let status): "the proxy answered \(status)"
        case .timedOut: "no answer in time"
        case .cut(let reason): "the answer broke off (\(reason))"
        case .tooLarge: "the answer is too long"
        case .malformed(let reason): "the answer is not HTTP (\(reason))"
        case .tooManyInFlight: "too many requests in flight"
        case .closed: "closed"
        case .failed(let reason): "failed (\(reason))"
        }
    }
}
