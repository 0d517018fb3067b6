import Bytes
import Crypto

/// Random bytes fetched from OpenSSL in bulk: one call for 64 challenges instead of one each.
struct RandomPool {
    private var bytes: [UInt8] = []
    private var offset = 0

    mutating func bytes16() -> Bytes16 {
        if offset == bytes.count {
            bytes = RandomBytes.bytes(Self.bulkByteCount)
            offset = 0
        }
        defer { offset += 16 }
        let span = bytes.span
        return Bytes16(
            word0: span.bigEndianWord(at: offset), word1: span.bigEndianWord(at: offset + 8))
    }

    static let bulkByteCount = 64 * 16
}
