import COpenSSL

/// A private key on one of the two curves that Apple's certificates use.
///
/// It never changes after it was made, and OpenSSL lets any number of threads read one key at the
/// same time (openssl-threads(7)), so it may be shared. OpenSSL wipes it when the last reference
/// goes.
@safe
public final class ECPrivateKey: @unchecked Sendable {
    public enum Curve: Sendable {
        case p256
        case p384

        /// OpenSSL's name of the group.
        var groupName: String {
            switch self {
            case .p256: "prime256v1"
            case .p384: "secp384r1"
            }
        }

        var scalarByteCount: Int {
            switch self {
            case .p256: 32
            case .p384: 48
            }
        }

        /// The group's OBJECT IDENTIFIER in DER (RFC 5480 section 2.1.1.1).
        var objectIdentifier: [UInt8] {
            switch self {
            case .p256: [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
            case .p384: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]
            }
        }
    }

    public let curve: Curve
    let handle: OpaquePointer

    /// Takes ownership of `handle`.
    private init(curve: Curve, owning handle: OpaquePointer) {
        self.curve = curve
        unsafe self.handle = handle
    }

    deinit { unsafe EVP_PKEY_free(handle) }

    public static func generate(_ curve: Curve) throws(CryptoError) -> ECPrivateKey {
        ErrorQueue.clear()
        guard let handle = unsafe sallyport_ec_generate(curve.groupName) else {
            throw .failed(ErrorQueue.drain("key generation"))
        }
        return unsafe ECPrivateKey(curve: curve, owning: handle)
    }

    /// Parses one unencrypted private key, `PRIVATE KEY` (PKCS 8) or `EC PRIVATE KEY` (SEC 1).
    public convenience init(pem: [UInt8]) throws(CryptoError) {
        ErrorQueue.clear()
        let bio = try MemoryBIO.reading(pem)
        // Without a callback OpenSSL would ask the terminal for an encrypted key's password.
        let handle = unsafe PEM_read_bio_PrivateKey(bio.handle, nil, { _, _, _, _ in -1 }, nil)
        guard let handle = unsafe handle else {
            throw .malformed(ErrorQueue.drain("PEM private key"))
        }
        guard let curve = unsafe Self.curve(of: handle) else {
            unsafe EVP_PKEY_free(handle)
            throw .malformed("PEM private key: neither P-256 nor P-384")
        }
        unsafe self.init(curve: curve, owning: handle)
    }

    /// The key whose secret number is `scalar`, big-endian: for keys that a seed must reproduce.
    public convenience init(curve: Curve, scalar: [UInt8]) throws(CryptoError) {
        ErrorQueue.clear()
        guard let handle = unsafe Self.makeHandle(curve, scalar) else {
            throw .malformed(ErrorQueue.drain("scalar of a private key"))
        }
        unsafe self.init(curve: curve, owning: handle)
    }

    /// The key in PKCS 8, unencrypted.
    public func pem() throws(CryptoError) -> [UInt8] {
        ErrorQueue.clear()
        let bio = try MemoryBIO()
        guard unsafe PEM_write_bio_PKCS8PrivateKey(bio.handle, handle, nil, nil, 0, nil, nil) == 1
        else { throw .failed(ErrorQueue.drain("writing a private key")) }
        return bio.contents
    }

    /// The uncompressed point (SEC 1 section 2.3.3): 65 or 97 bytes.
    public func publicPoint() throws(CryptoError) -> [UInt8] {
        ErrorQueue.clear()
        guard
            let point = unsafe EncodedBytes.taken(from: {
                unsafe EVP_PKEY_get1_encoded_public_key(handle, $0)
            })
        else { throw .failed(ErrorQueue.drain("reading a public point")) }
        return point
    }

    /// The ECDSA signature over `message`, which ECDSA hashes, in DER.
    public func sign(
        _ message: [UInt8], digest: CertificateBuilder.Digest = .sha256
    ) throws(CryptoError) -> [UInt8] {
        ErrorQueue.clear()
        guard let context = unsafe EVP_MD_CTX_new() else {
            throw .failed(ErrorQueue.drain("signing context"))
        }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestSignInit(context, nil, digest.method, nil, handle) == 1 else {
            throw .failed(ErrorQueue.drain("signing"))
        }
        var byteCount = Int(unsafe EVP_PKEY_get_size(handle))
        var signature = [UInt8](repeating: 0, count: byteCount)
        guard
            unsafe EVP_DigestSign(context, &signature, &byteCount, message, message.count) == 1,
            // Without memory for its numbers OpenSSL 3.0 reports success, and a length of -1.
            byteCount > 0, byteCount <= signature.count
        else { throw .failed(ErrorQueue.drain("signing")) }
        signature.removeLast(signature.count - byteCount)
        return signature
    }

    private static func curve(of handle: OpaquePointer) -> Curve? {
        var name = [CChar](repeating: 0, count: 32)
        guard unsafe EVP_PKEY_get_group_name(handle, &name, name.count, nil) == 1 else {
            return nil
        }
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        switch String(decoding: bytes, as: UTF8.self) {
        case Curve.p256.groupName: return .p256
        case Curve.p384.groupName: return .p384
        default: return nil
        }
    }

    /// Parses the scalar as an ECPrivateKey (RFC 5915) without its public key, which OpenSSL then
    /// computes.
    private static func makeHandle(_ curve: Curve, _ scalar: [UInt8]) -> OpaquePointer? {
        guard scalar.count == curve.scalarByteCount else { return nil }
        let version: [UInt8] = [0x02, 0x01, 0x01]
        let number = [0x04, UInt8(scalar.count)] + scalar
        let parameters = [0xA0, UInt8(curve.objectIdentifier.count)] + curve.objectIdentifier
        let contents = version + number + parameters
        var der = [0x30, UInt8(contents.count)] + contents
        defer {
            unsafe der.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        }
        let handle = unsafe der.withUnsafeBufferPointer { der in
            var position = der.baseAddress
            return unsafe d2i_PrivateKey(EVP_PKEY_EC, nil, &position, der.count)
        }
        guard let handle = unsafe handle else { return nil }
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, handle, nil) else {
            unsafe EVP_PKEY_free(handle)
            return nil
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        // Zero and numbers beyond the group's order are parsed without complaint.
        guard unsafe EVP_PKEY_check(context) == 1 else {
            unsafe EVP_PKEY_free(handle)
            return nil
        }
        return unsafe handle
    }
}
