import COpenSSL

/// Bytes in the form that OpenSSL's readers and writers need.
@safe
struct MemoryBIO: ~Copyable {
    let handle: OpaquePointer

    /// Makes an empty one for writing.
    init() throws(CryptoError) {
        guard let handle = unsafe BIO_new(BIO_s_mem()) else {
            throw .failed(ErrorQueue.drain("memory BIO"))
        }
        unsafe self.handle = handle
    }

    /// Makes one that holds a copy of `bytes`.
    static func reading(_ bytes: [UInt8]) throws(CryptoError) -> MemoryBIO {
        let bio = try MemoryBIO()
        var writtenCount = 0
        guard
            unsafe bytes.isEmpty || BIO_write_ex(bio.handle, bytes, bytes.count, &writtenCount) == 1
        else { throw .failed(ErrorQueue.drain("memory BIO")) }
        return bio
    }

    deinit { unsafe BIO_free_all(handle) }

    /// The bytes that have been written and not yet read.
    var contents: [UInt8] {
        var start: UnsafePointer<UInt8>?
        let byteCount = unsafe sallyport_bio_contents(handle, &start)
        return unsafe Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : byteCount))
    }
}
