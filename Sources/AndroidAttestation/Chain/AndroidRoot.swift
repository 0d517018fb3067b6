public import Bytes
public import Crypto

/// A root that chains may end at: its public key alone, because Google issued the same key in
/// certificates of several years.
///
/// The holder of the private key can enrol anything.
public struct AndroidRoot: Sendable, Hashable {
    /// SHA-256 of the SubjectPublicKeyInfo in DER.
    public let keyDigest: Bytes32
    let keyInfo: [UInt8]
    let verifier: TokenKey

    /// The key of `certificate`, whose other fields do not matter. Throws if the key is neither RSA
    /// from 2048 bits nor on P-256 or P-384.
    public init(_ certificate: Certificate) throws(CryptoError) {
        guard let read = try? AndroidCertificate(certificate.der, isLeaf: false) else {
            throw .malformed("root of key attestation: not such a certificate")
        }
        guard let verifier = read.key.issuerKey() else {
            throw .malformed("root of key attestation: neither RSA from 2048 bits, P-256 nor P-384")
        }
        keyInfo = read.keyInfo
        self.verifier = verifier
        keyDigest = SHA256.hash(read.keyInfo)
    }

    /// Parses the certificates of a PEM file (RFC 7468), at least one.
    public static func parsePEM(_ text: [UInt8]) throws(CryptoError) -> [AndroidRoot] {
        var roots: [AndroidRoot] = []
        for certificate in try Certificate.parsePEM(text) {
            roots.append(try AndroidRoot(certificate))
        }
        return roots
    }

    public static func == (left: AndroidRoot, right: AndroidRoot) -> Bool {
        left.keyInfo == right.keyInfo
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(keyDigest) }
}
