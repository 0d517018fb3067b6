public import Bytes
import COpenSSL

/// Checks ECDSA signatures on P-256 with SHA-256 (FIPS 186-4, SEC 1 section 4.1.4).
///
/// One key object takes each call's public key by its 65 bytes: this takes 0.8 us, while decoding a
/// SubjectPublicKeyInfo takes 310 us.
///
/// One thread at a time.
@safe
public struct P256Verifier: ~Copyable {
    private let key: OpaquePointer
    /// OpenSSL's numbers, used while a point is computed.
    private let scratch: OpaquePointer

    /// The longest signature. DER has at most 72 bytes, and anything much longer is not worth
    /// decoding.
    public static let signatureByteCountMax = 80

    public init() throws(CryptoError) {
        ErrorQueue.clear()
        guard let key = unsafe sallyport_p256_key() else {
            throw .failed(ErrorQueue.drain("P-256 key"))
        }
        guard let scratch = unsafe BN_CTX_new() else {
            unsafe sallyport_p256_key_free(key)
            throw .failed(ErrorQueue.drain("P-256 verification"))
        }
        unsafe self.key = key
        unsafe self.scratch = scratch
    }

    deinit {
        unsafe BN_CTX_free(scratch)
        unsafe sallyport_p256_key_free(key)
    }

    /// True if `key` made `signature` (DER) over `message`, which ECDSA hashes.
    ///
    /// False also for a point off the curve and for anything but the one DER encoding. Both `(r,
    /// s)` and `(r, n - s)` are valid, as in ECDSA, so the bytes of a signature are no identity.
    public mutating func isValid(
        signature: Span<UInt8>, message: Span<UInt8>, key: P256PublicKey
    ) -> Bool {
        isValid(signature: signature, digest: SHA256.hash(message), key: key)
    }

    /// True if the key made `signature` over a message whose SHA-256 is `digest`.
    public mutating func isValid(
        signature: Span<UInt8>, digest: Bytes32, key: P256PublicKey
    ) -> Bool {
        guard !signature.isEmpty, signature.count <= Self.signatureByteCountMax else {
            return false
        }
        ErrorQueue.clear()
        guard take(key) else {
            ErrorQueue.clear()
            return false
        }
        let digestWords = digest.bigEndianWords
        let verdict = unsafe signature.withUnsafeBufferPointer { signature in
            unsafe withUnsafeBytes(of: digestWords) { digest in
                unsafe sallyport_p256_verify(
                    self.key, digest.assumingMemoryBound(to: UInt8.self).baseAddress,
                    signature.baseAddress, signature.count)
            }
        }
        guard verdict == 1 else {
            ErrorQueue.clear()
            return false
        }
        return true
    }

    /// True if `key` is a point on the curve.
    public mutating func isOnCurve(_ key: P256PublicKey) -> Bool {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        return take(key)
    }

    /// Puts the point of `key` into the key object. False if the point is not on the curve; the
    /// object must not be used then.
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
            return unsafe sallyport_p256_set_point(self.key, bytes, scratch) == 1
        }
    }
}
