/// The reason why a CMS message was refused.
public enum SignedDataError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The message is not SignedData over content of type data with one signer whose certificate it
    /// carries.
    case malformed(String)
    /// The digest or signature algorithm is not ECDSA with SHA-2.
    case weakAlgorithm
    /// The content, or its signed attributes, is not what the signer signed.
    case badSignature
    /// The signature is valid, but the signer is not trusted.
    case signer(CertificateChainError)

    public var description: String {
        switch self {
        case .malformed(let reason): "malformed CMS: \(reason)"
        case .weakAlgorithm: "a CMS algorithm is not acceptable"
        case .badSignature: "the CMS signature is not the signer's"
        case .signer(let error): "CMS signer: \(error)"
        }
    }
}
