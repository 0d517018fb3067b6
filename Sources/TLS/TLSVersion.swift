import COpenSSL

/// The supported versions of TLS; older ones are never negotiated (RFC 8996).
public enum TLSVersion: String, Hashable, Sendable, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"

    var number: Int32 {
        switch self {
        case .tls12: TLS1_2_VERSION
        case .tls13: TLS1_3_VERSION
        }
    }

    /// The version's name in access logs.
    public var name: StaticString {
        switch self {
        case .tls12: "TLSv1.2"
        case .tls13: "TLSv1.3"
        }
    }
}
