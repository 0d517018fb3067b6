import Crypto

/// The algorithms by which other issuers may sign tokens: a closed list from RFC 7518 and RFC 8037.
/// `none` is not among them.
public enum TokenAlgorithm: String, CaseIterable, Hashable, Sendable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case edDSA = "EdDSA"
    /// HMAC with a secret that the gateway shares with the issuer.
    case hs256 = "HS256"

    /// True if the key that checks a signature can also make one.
    public var isSymmetric: Bool { self == .hs256 }

    /// The scheme by which a public key checks the signature; nil for an algorithm without one.
    var scheme: TokenKey.Scheme? {
        switch self {
        case .rs256: .pkcs1(.sha256)
        case .rs384: .pkcs1(.sha384)
        case .rs512: .pkcs1(.sha512)
        case .ps256: .pss(.sha256)
        case .ps384: .pss(.sha384)
        case .ps512: .pss(.sha512)
        case .es256: .ecdsa(.sha256)
        case .es384: .ecdsa(.sha384)
        case .edDSA: .ed25519
        case .hs256: nil
        }
    }

    /// The kind of key that it is for. A key of another kind is never tried.
    var kind: TokenKey.Kind? {
        switch self {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: .rsa
        case .es256: .ec(.p256)
        case .es384: .ec(.p384)
        case .edDSA: .ed25519
        case .hs256: nil
        }
    }
}
