/// The reason why a certificate was not trusted.
public enum CertificateChainError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A certificate of the path ended before the time in question.
    case expired
    /// A certificate of the path begins after the time in question.
    case notYetValid
    /// The path ends at none of the given roots.
    case untrusted
    /// A certificate was not signed by the one that it names as its issuer; for a root, its own
    /// signature counts.
    case badSignature
    /// An issuer is no CA, or its key may not sign certificates.
    case notCA
    /// The chain has more intermediates than a CA of the path allows.
    case pathLength
    /// A signature algorithm is not one of those that Apple's chains use, or a key is too short.
    case weakAlgorithm
    /// A key is not on the named curve P-256 or P-384.
    case otherKey
    /// Any other reason in OpenSSL's words, such as an unknown critical extension.
    case other(String)

    public var description: String {
        switch self {
        case .expired: "a certificate has expired"
        case .notYetValid: "a certificate is not yet valid"
        case .untrusted: "no path to a trusted root"
        case .badSignature: "a certificate's signature is not its issuer's"
        case .notCA: "an issuer is not a CA"
        case .pathLength: "a path length is exceeded"
        case .weakAlgorithm: "a signature algorithm is not acceptable"
        case .otherKey: "a key is not on P-256 or P-384"
        case .other(let reason): reason
        }
    }
}
