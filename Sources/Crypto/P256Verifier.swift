public import Bytes
import COpenSSL

/// Checks ECDSA signatures on P-256 with SHA-256 (FIPS 186-4, SEC 1 section 4.1.4).
///
/// One template key takes each call's public key by its 65 bytes: 0.8 us, where decoding a
/// SubjectPublicKeyInfo costs 310 us. Measured for a 32-byte message, all with the key set again:
/// `EVP_PKEY_verify` on a kept context, initialised each time, 46.6 us; `EVP_DigestVerify` 47.4 us;
/// the deprecated `ECDSA_verify` 46.2 us; the bare verification is 45.8 us of each. Leaving out the
/// initialisation would save 0.4 us and rest on how the provider holds its key.
///
/// One thread at a time.
@safe
public struct P256Verifier: ~Copyable {
    private let template: OpaquePointer
    private let context: OpaquePointer

    /// A signature's DER is at most 72 bytes; anything much longer is not worth decoding.
    public static let signatureByteCountMax = 80

    public init() throws(CryptoError) {
        ErrorQueue.clear()
        guard let template = unsafe Self.makeTemplate() else {
            throw .failed(ErrorQueue.drain("P-256 template key"))
        }
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, template, nil) else {
            unsafe EVP_PKEY_free(template)
            throw .failed(ErrorQueue.drain("P-256 verification context"))
        }
        unsafe self.template = template
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(context)
        unsafe EVP_PKEY_free(template)
    }

    /// Whether `signature` (DER) is `key`'s over `message`, which ECDSA hashes.
    ///
    /// False also for a point off the curve and for anything but the one DER encoding. Both
    /// `(r, s)` and `(r, n - s)` are valid, as in ECDSA: a signature's bytes are no identity.
    public mutating func isValid(
        signature: Span<UInt8>, message: Span<UInt8>, key: P256PublicKey
    ) -> Bool {
        isValid(signature: signature, digest: SHA256.hash(message), key: key)
    }

    /// Whether `signature` is the key's over a message whose SHA-256 is `digest`.
    public mutating func isValid(
        signature: Span<UInt8>, digest: Bytes32, key: P256PublicKey
    ) -> Bool {
        guard !signature.isEmpty, signature.count <= Self.signatureByteCountMax else {
            return false
        }
        ErrorQueue.clear()
        guard take(key), unsafe EVP_PKEY_verify_init(context) == 1 else {
            ErrorQueue.clear()
            return false
        }
        let digestWords = digest.bigEndianWords
        let verdict = unsafe signature.withUnsafeBufferPointer { signature in
            unsafe withUnsafeBytes(of: digestWords) { digest in
                unsafe EVP_PKEY_verify(
                    context, signature.baseAddress, signature.count,
                    digest.assumingMemoryBound(to: UInt8.self).baseAddress, digest.count)
            }
        }
        guard verdict == 1 else {
            ErrorQueue.clear()
            return false
        }
        return true
    }

    /// Whether `key` is a point on the curve.
    public mutating func isOnCurve(_ key: P256PublicKey) -> Bool {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        return take(key)
    }

    /// Puts `key` into the template; false if it is not on the curve, and then the template is not
    /// to be verified with.
    private func take(_ key: P256PublicKey) -> Bool {
        let byteCount = P256PublicKey.x963ByteCount
        return unsafe withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) { point in
            unsafe point[0] = 0x04
            let x = key.x.bigEndianWords
            let y = key.y.bigEndianWords
            for index in 0..<4 {
                unsafe point.storeBytes(of: x[index], toByteOffset: 1 + index * 8, as: UInt64.self)
                unsafe point.storeBytes(of: y[index], toByteOffset: 33 + index * 8, as: UInt64.self)
            }
            let bytes = unsafe point.assumingMemoryBound(to: UInt8.self).baseAddress
            return unsafe EVP_PKEY_set1_encoded_public_key(template, bytes, byteCount) == 1
        }
    }

    /// A key that knows its curve and no point.
    private static func makeTemplate() -> OpaquePointer? {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_paramgen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_group_name(context, "prime256v1") == 1
        else { return nil }
        var template: OpaquePointer?
        guard unsafe EVP_PKEY_paramgen(context, &template) == 1 else { return nil }
        return unsafe template
    }
}
