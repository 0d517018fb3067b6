/// The failure of an exchange by its upstream's connection.
package enum UpstreamFailure: Equatable {
    /// No connection could be made: nothing was sent.
    case connect(description: String)
    /// The connection ended or broke.
    case broken(description: String)
    /// The server has said that it did not act on the request, and will not on this connection
    /// (RFC 9113 section 8.7).
    case refused(description: String)
    /// The answer is not HTTP by RFC 9112 or 9113.
    case malformed(code: String)
    case connectTimeout
    /// The gateway has no descriptor left for a connection. The server is not the cause.
    case exhausted
    /// The server did not take more of the request.
    case sendTimeout
    case responseTimeout
    /// The answer's body stopped coming.
    case readTimeout

    package var reason: Reason {
        switch self {
        case .connect, .broken, .refused, .malformed: .upstreamFailed
        case .exhausted: .upstreamBusy
        case .connectTimeout, .sendTimeout, .responseTimeout, .readTimeout: .upstreamTimeout
        }
    }

    /// The failure's words for logs and events.
    package var text: String {
        switch self {
        case .connect(let description): "connect: " + description
        case .broken(let description): "broken: " + description
        case .refused(let description): "refused: " + description
        case .malformed(let code): "malformed: " + code
        case .connectTimeout: "connect_timeout"
        case .exhausted: "out_of_descriptors"
        case .sendTimeout: "send_timeout"
        case .responseTimeout: "response_timeout"
        case .readTimeout: "read_timeout"
        }
    }

    package var isBreak: Bool { if case .broken = self { true } else { false } }

    /// The failure for a request that waited for the connection: no byte of it was sent.
    package var beforeConnecting: UpstreamFailure {
        switch self {
        case .broken, .malformed: .connect(description: text)
        default: self
        }
    }

    package var isRefusal: Bool { if case .refused = self { true } else { false } }
}
