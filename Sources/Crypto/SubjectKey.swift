import Bytes

/// The key that a certificate is for.
public enum SubjectKey: Sendable {
    case p256(P256PublicKey)
    case ec(ECPrivateKey)
    /// A key of any other kind, as SubjectPublicKeyInfo in DER. It exists to be refused.
    case other(info: [UInt8])

    /// The uncompressed point of the key.
    func point() throws(CryptoError) -> [UInt8] {
        switch self {
        case .p256(let key): key.x963
        case .ec(let key): try key.publicPoint()
        case .other: throw .malformed("a key that is no point")
        }
    }

    private var curve: ECPrivateKey.Curve {
        if case .ec(let key) = self { key.curve } else { .p256 }
    }

    /// Twenty bytes that name the key, by RFC 7093's first method.
    func identifier() throws(CryptoError) -> [UInt8] {
        Array(SHA256.hash(try point()).array.prefix(20))
    }

    /// The SubjectPublicKeyInfo (RFC 5480 section 2) in DER.
    package func publicKeyInfo() throws(CryptoError) -> [UInt8] {
        if case .other(let info) = self { return info }
        let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
        let identifiers = ecPublicKey + curve.objectIdentifier
        let point = try point()
        let algorithm = [0x30, UInt8(identifiers.count)] + identifiers
        let contents = algorithm + [0x03, UInt8(point.count + 1), 0x00] + point
        return [0x30, UInt8(contents.count)] + contents
    }
}
