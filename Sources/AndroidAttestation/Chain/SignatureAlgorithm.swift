import Bytes
import Crypto
import DER

/// The algorithms by which a certificate of a chain may be signed.
enum SignatureAlgorithm: Hashable, Sendable {
    case rsaSHA256
    case ecdsaSHA256
    case ecdsaSHA384

    /// Reads the contents of an AlgorithmIdentifier. Nil for any other algorithm. The parameters
    /// may be absent or NULL: RFC 5758 wants none with ECDSA, and some makers write NULL.
    init?(_ identifier: Span<UInt8>) {
        var reader = DERReader(identifier)
        guard let oid = reader.read(.objectIdentifier) else { return nil }
        if !reader.isAtEnd {
            guard reader.readNull(), reader.isAtEnd else { return nil }
        }
        switch oid.array {
        case ObjectIdentifiers.sha256WithRSA: self = .rsaSHA256
        case ObjectIdentifiers.ecdsaWithSHA256: self = .ecdsaSHA256
        case ObjectIdentifiers.ecdsaWithSHA384: self = .ecdsaSHA384
        default: return nil
        }
    }

    var scheme: TokenKey.Scheme {
        switch self {
        case .rsaSHA256: .pkcs1(.sha256)
        case .ecdsaSHA256: .ecdsaDER(.sha256)
        case .ecdsaSHA384: .ecdsaDER(.sha384)
        }
    }

    /// True if a key of this kind can make such signatures.
    func fits(_ key: SubjectPublicKey) -> Bool {
        switch (self, key) {
        case (.rsaSHA256, .rsa): true
        case (.ecdsaSHA256, .p256), (.ecdsaSHA256, .p384): true
        case (.ecdsaSHA384, .p256), (.ecdsaSHA384, .p384): true
        default: false
        }
    }
}
