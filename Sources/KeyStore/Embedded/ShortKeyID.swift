import Attestation
import Bytes

/// The first 12 bytes of a key's id, by which embedded counters know it.
///
/// Two keys that have them in common would share their counters: each refuses what the other has
/// used, and nothing is accepted twice. Among ten million keys the chance of that is 10^-15, and to
/// find a second key for a known one takes 2^96 keys that a platform has vouched for.
struct ShortKeyID: Hashable, Sendable {
    private let high: UInt32
    private let middle: UInt32
    private let low: UInt32

    private init(first: UInt64, low: UInt32) {
        high = UInt32(first >> 32)
        middle = UInt32(truncatingIfNeeded: first)
        self.low = low
    }

    init(_ keyID: KeyID) {
        self.init(first: keyID.digest.word0, low: UInt32(keyID.digest.word1 >> 32))
    }

    /// Reads what ``append(to:)`` writes. Nil if there are not enough bytes.
    init?(from reader: inout ByteReader) {
        guard let first = reader.readInteger(byteCount: 8),
            let last = reader.readInteger(byteCount: 4)
        else { return nil }
        self.init(first: first, low: UInt32(last))
    }

    private var first: UInt64 { UInt64(high) << 32 | UInt64(middle) }

    func append(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: first)
        bytes.append(addingCapacity: 4) { $0.append(bigEndian: UInt64(low), byteCount: 4) }
    }
}

extension ShortKeyID: IndexedKey {
    var indexHash: UInt64 { first ^ UInt64(low) }
}
