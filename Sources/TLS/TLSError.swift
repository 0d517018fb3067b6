/// The reason why a certificate, a key or a setting of TLS cannot be used: for the operator, never
/// with key material.
public struct TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
    /// True if the error is about the private key alone.
    public let isAboutKey: Bool

    public init(_ description: String, isAboutKey: Bool = false) {
        self.description = description
        self.isAboutKey = isAboutKey
    }
}

/// The reason why a session ended without `close_notify`.
public struct TLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failures, which are labels of metrics: a closed set.
    public enum Kind: UInt8, CaseIterable, Sendable {
        /// The peer closed the connection without `close_notify` (RFC 8446 section 6.1). Its data
        /// may have been cut short by an attacker.
        case truncated
        /// The connection itself failed.
        case network
        /// The bytes are no TLS at all, but, for example, HTTP without TLS.
        case notTLS
        case version
        /// There is no cipher, group or signature algorithm in common.
        case parameters
        /// There is no application protocol in common (RFC 7301).
        case applicationProtocol
        /// The peer's certificate is missing, or was not accepted.
        case certificate
        /// The peer sent a fatal alert.
        case alert
        case other

        public var name: StaticString {
            switch self {
            case .truncated: "truncated"
            case .network: "network"
            case .notTLS: "not_tls"
            case .version: "version"
            case .parameters: "parameters"
            case .applicationProtocol: "application_protocol"
            case .certificate: "certificate"
            case .alert: "alert"
            case .other: "other"
            }
        }
    }

    public let kind: Kind
    public let description: String
    /// True if the peer spoke HTTP without TLS.
    public let isHTTP: Bool

    init(_ kind: Kind, _ description: String, isHTTP: Bool = false) {
        self.kind = kind
        self.description = description
        self.isHTTP = isHTTP
    }
}
