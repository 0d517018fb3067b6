public import Bytes
import COpenSSL

/// Bytes from OpenSSL's generator, fit for keys and challenges.
///
/// If the generator fails, the process ends, because there is no safe way to go on without one.
public enum RandomBytes {
    public static func bytes(_ count: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filledCount in
            unsafe fill(UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: count))
            filledCount = count
        }
    }

    public static func bytes16() -> Bytes16 {
        var words: InlineArray<2, UInt64> = [0, 0]
        unsafe withUnsafeMutableBytes(of: &words) { unsafe fill($0) }
        return Bytes16(word0: words[0], word1: words[1])
    }

    public static func bytes32() -> Bytes32 {
        var words: InlineArray<4, UInt64> = [0, 0, 0, 0]
        unsafe withUnsafeMutableBytes(of: &words) { unsafe fill($0) }
        return Bytes32(word0: words[0], word1: words[1], word2: words[2], word3: words[3])
    }

    public static func word() -> UInt64 {
        var word: UInt64 = 0
        unsafe withUnsafeMutableBytes(of: &word) { unsafe fill($0) }
        return word
    }

    private static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        // RAND_bytes counts in Int32; no caller here asks for a gigabyte.
        guard let count = Int32(exactly: buffer.count) else { fatalError("too many random bytes") }
        guard count > 0, let base = buffer.baseAddress else { return }
        let filled = unsafe RAND_bytes(base.assumingMemoryBound(to: UInt8.self), count)
        guard filled == 1 else { fatalError("the random generator failed") }
    }
}
