public import Bytes

/// A private key on P-256, such as the one in a device's Secure Enclave.
public final class P256PrivateKey: Sendable {
    /// This key for callers that accept either curve, such as ``CertificateBuilder``.
    public let key: ECPrivateKey
    public let publicKey: P256PublicKey

    private init(_ key: ECPrivateKey) throws(CryptoError) {
        guard key.curve == .p256 else { throw .malformed("private key: not on P-256") }
        let point = try key.publicPoint()
        guard let publicKey = P256PublicKey(x963: point.span) else {
            throw .malformed("private key: no uncompressed point")
        }
        self.key = key
        self.publicKey = publicKey
    }

    public static func generate() throws(CryptoError) -> P256PrivateKey {
        try P256PrivateKey(ECPrivateKey.generate(.p256))
    }

    /// The key whose secret number is `scalar`, big-endian: for keys that a seed must reproduce.
    public convenience init(scalar: Bytes32) throws(CryptoError) {
        try self.init(ECPrivateKey(curve: .p256, scalar: scalar.array))
    }

    /// Parses one unencrypted private key, `PRIVATE KEY` (PKCS 8) or `EC PRIVATE KEY` (SEC 1).
    public convenience init(pem: [UInt8]) throws(CryptoError) {
        try self.init(ECPrivateKey(pem: pem))
    }

    /// The key in PKCS 8, unencrypted.
    public func pem() throws(CryptoError) -> [UInt8] { try key.pem() }

    /// The ECDSA signature with SHA-256 over `message`, which ECDSA hashes, in DER.
    public func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] { try key.sign(message) }

    /// Signs `message` and returns the signature as two numbers.
    public func signature(of message: [UInt8]) throws(CryptoError) -> P256Signature {
        guard let signature = P256Signature(der: try sign(message)) else {
            throw .failed("reading a signature")
        }
        return signature
    }
}
