import Bytes
import COpenSSL

/// A public key by which other issuers sign tokens or certificates: RSA, P-256, P-384 or Ed25519,
/// each for the schemes that JSON Web Signatures (RFC 7518 section 3, RFC 8037) and X.509 have for
/// it.
///
/// It never changes after it was made, and OpenSSL lets any number of threads read one key at the
/// same time (openssl-threads(7)), so it may be shared. The P-256 keys of apps have
/// ``P256Verifier``, which needs no object of OpenSSL for each key.
@safe
public final class TokenKey: @unchecked Sendable {
    public enum Kind: Hashable, Sendable {
        case rsa
        case ec(ECPrivateKey.Curve)
        case ed25519
    }

    /// The scheme of a signature.
    public enum Scheme: Hashable, Sendable {
        /// RSASSA-PKCS1-v1_5 with that digest.
        case pkcs1(Digest)
        /// RSASSA-PSS with MGF1, both with that digest, and with a salt as long as the digest.
        case pss(Digest)
        /// ECDSA with r and s side by side.
        case ecdsa(Digest)
        /// ECDSA with r and s in DER, the form of X.509 (RFC 3279 section 2.2.3).
        case ecdsaDER(Digest)
        case ed25519
    }

    public enum Digest: String, Hashable, Sendable {
        case sha256 = "SHA2-256"
        case sha384 = "SHA2-384"
        case sha512 = "SHA2-512"
    }

    public let kind: Kind
    private let handle: OpaquePointer

    /// The accepted sizes of RSA keys. Smaller ones can be broken (RFC 7518 section 3.3 asks for
    /// 2048), and checking a signature of a larger one costs more than a token is worth.
    public static let modulusBitCounts = 2048...8192
    /// The longest exponent. All exponents in use have 3 or 17 bits; OpenSSL itself accepts no
    /// longer ones for long keys.
    private static let exponentByteCountMax = 8

    private init(_ kind: Kind, info: [UInt8]) throws(CryptoError) {
        ErrorQueue.clear()
        let handle = unsafe info.withUnsafeBufferPointer { info in
            var position = info.baseAddress
            return unsafe d2i_PUBKEY(nil, &position, info.count)
        }
        guard let handle = unsafe handle else {
            throw .malformed(ErrorQueue.drain("public key"))
        }
        self.kind = kind
        unsafe self.handle = handle
    }

    deinit { unsafe EVP_PKEY_free(handle) }

    /// Makes an RSA key from its two numbers, big-endian.
    public convenience init(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
        let modulus = Array(modulus.drop { $0 == 0 })
        let exponent = Array(exponent.drop { $0 == 0 })
        let bitCount = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard Self.modulusBitCounts.contains(bitCount) else {
            throw .malformed("RSA key of \(bitCount) bits")
        }
        // With the exponent 1 every message is its own signature.
        guard (1...Self.exponentByteCountMax).contains(exponent.count), exponent != [1],
            exponent.last.map({ $0 & 1 }) == 1, modulus.last.map({ $0 & 1 }) == 1
        else { throw .malformed("RSA key with such numbers") }
        let integers = [modulus, exponent].flatMap { Self.element(0x02, Self.unsigned($0)) }
        let numbers = Self.element(0x30, integers)
        // The algorithm rsaEncryption with NULL parameters.
        let algorithm: [UInt8] = [
            0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05,
            0x00,
        ]
        try self.init(.rsa, info: Self.element(0x30, algorithm + Self.element(0x03, [0] + numbers)))
    }

    /// Makes a key from the coordinates of its point, each as long as the curve's numbers.
    public convenience init(
        _ curve: ECPrivateKey.Curve, x: [UInt8], y: [UInt8]
    ) throws(CryptoError) {
        let byteCount = curve.scalarByteCount
        guard x.count == byteCount, y.count == byteCount else {
            throw .malformed("point of another curve")
        }
        let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
        let algorithm = Self.element(0x30, ecPublicKey + curve.objectIdentifier)
        let point = Self.element(0x03, [0, 0x04] + x + y)
        try self.init(.ec(curve), info: Self.element(0x30, algorithm + point))
    }

    /// Makes an Ed25519 key from its 32 bytes (RFC 8410 section 4).
    public convenience init(ed25519 bytes: [UInt8]) throws(CryptoError) {
        guard bytes.count == 32 else { throw .malformed("Ed25519 key of \(bytes.count) bytes") }
        let algorithm: [UInt8] = [0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70]
        try self.init(
            .ed25519, info: Self.element(0x30, algorithm + Self.element(0x03, [0] + bytes)))
    }

    /// True if this key made `signature` over `message`. False also for a scheme of other kinds of
    /// keys.
    public func isValid(
        _ signature: Span<UInt8>, message: Span<UInt8>, scheme: Scheme
    ) -> Bool {
        guard isOwn(scheme) else { return false }
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        switch (scheme, kind) {
        case (.ecdsa, .ec(let curve)):
            guard let der = Self.der(signature, byteCount: curve.scalarByteCount) else {
                return false
            }
            return verify(der.span, message, scheme)
        case (.ecdsaDER, _):
            // OpenSSL accepts nothing but the one encoding of the two numbers.
            return verify(signature, message, scheme)
        default:
            // OpenSSL also accepts shorter RSA signatures.
            guard signature.count == Int(unsafe EVP_PKEY_get_size(handle)) else { return false }
            return verify(signature, message, scheme)
        }
    }

    private func isOwn(_ scheme: Scheme) -> Bool {
        switch (kind, scheme) {
        case (.rsa, .pkcs1), (.rsa, .pss), (.ec, .ecdsa), (.ec, .ecdsaDER),
            (.ed25519, .ed25519):
            true
        default: false
        }
    }

    private func verify(
        _ signature: Span<UInt8>, _ message: Span<UInt8>, _ scheme: Scheme
    ) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        var keyContext: OpaquePointer?
        guard
            unsafe EVP_DigestVerifyInit_ex(
                context, &keyContext, scheme.digest?.rawValue, nil, nil, handle, nil) == 1
        else { return false }
        if case .pss = scheme {
            guard unsafe EVP_PKEY_CTX_set_rsa_padding(keyContext, RSA_PKCS1_PSS_PADDING) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_pss_saltlen(keyContext, RSA_PSS_SALTLEN_DIGEST) == 1
            else { return false }
        }
        let verdict = unsafe signature.withUnsafeBufferPointer { signature in
            unsafe message.withUnsafeBufferPointer { message in
                unsafe EVP_DigestVerify(
                    context, signature.baseAddress, signature.count, message.baseAddress,
                    message.count)
            }
        }
        return verdict == 1
    }

    // MARK: DER

    /// ECDSA's two numbers in DER; nil unless `raw` has two of `byteCount` bytes.
    private static func der(_ raw: Span<UInt8>, byteCount: Int) -> [UInt8]? {
        guard raw.count == 2 * byteCount else { return nil }
        let r = raw.extracting(0..<byteCount).array
        let s = raw.extracting(byteCount..<2 * byteCount).array
        return element(0x30, element(0x02, unsigned(r)) + element(0x02, unsigned(s)))
    }

    /// The contents of an INTEGER that is not negative, in its shortest form.
    private static func unsigned(_ number: [UInt8]) -> [UInt8] {
        let digits = Array(number.drop { $0 == 0 })
        guard let first = digits.first else { return [0] }
        return first & 0x80 == 0 ? digits : [0] + digits
    }

    private static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let count = contents.count
        let length: [UInt8] =
            switch count {
            case ..<0x80: [UInt8(count)]
            case ..<0x100: [0x81, UInt8(count)]
            default: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
            }
        return [tag] + length + contents
    }
}

extension TokenKey.Scheme {
    fileprivate var digest: TokenKey.Digest? {
        switch self {
        case .pkcs1(let digest), .pss(let digest), .ecdsa(let digest), .ecdsaDER(let digest):
            digest
        case .ed25519: nil
        }
    }
}
