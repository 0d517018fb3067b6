import COpenSSL

/// Copies encodings out of memory that OpenSSL allocates, also for the targets that use OpenSSL
/// beside this one.
package enum EncodedBytes {
    /// The bytes that `encode` wrote, or nil if it wrote none. `encode` gets the place for the
    /// address of its memory, which is freed here, and returns the number of bytes.
    package static func taken(
        from encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int
    ) -> [UInt8]? {
        var encoded: UnsafeMutablePointer<UInt8>?
        let byteCount = unsafe encode(&encoded)
        defer { unsafe CRYPTO_free(encoded, #file, #line) }
        guard byteCount > 0, let encoded = unsafe encoded else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: encoded, count: byteCount))
    }
}
