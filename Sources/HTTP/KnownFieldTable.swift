import Bytes

/// Finds a known field by the length and the last eight bytes of its name.
///
/// A perfect hash: each entry stands for at most one name. The whole name is then compared, so that
/// no made-up name passes for a known one. It is an object because statics cost a check at each use
/// whether they are initialised.
final class KnownFieldTable: Sendable {
    static let shared = KnownFieldTable()
    static let nameByteCountMax = 24

    private struct Slot {
        /// The name's last eight bytes in lower case, the last one in the lowest byte.
        var tail: UInt64 = 0
        /// The bytes before those: the first eight, then the rest.
        var first: UInt64 = 0
        var second: UInt64 = 0
        var byteCount = 0
        var known = KnownField.other
    }

    /// The fields in the order of `KnownField.allCases`. Slot 0 stands for no field.
    private let slots: InlineArray<64, Slot>
    private let multiplier: UInt64
    /// The index into `slots`, by hash.
    private let entries: InlineArray<1024, UInt8>

    private init() {
        var slots = InlineArray<64, Slot>(repeating: Slot())
        for (index, known) in KnownField.allCases.enumerated() where known != .other {
            slots[index] = Self.slot(for: known)
        }
        // Knuth's 2^64 / phi, then other odd numbers: one in a few makes the hash perfect.
        var multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15
        var entries = Self.fill(slots, multiplier)
        while entries == nil {
            multiplier &+= 0xD1B5_4A32_D192_ED02
            entries = Self.fill(slots, multiplier)
        }
        self.slots = slots
        self.multiplier = multiplier
        self.entries = entries ?? InlineArray(repeating: 0)
    }

    /// The field whose name is the bytes from `start` to `end`, folding ASCII case.
    ///
    /// Case is folded by `| 0x20`. Of the bytes that a token may hold, only `^` and `_` change by
    /// it to anything but a lower-case letter. Of the others, only control bytes become a byte that
    /// a known name holds, so every byte before `end` must be above 0x20.
    @inline(__always)
    func field(in bytes: Span<UInt8>, from start: Int, to end: Int) -> KnownField {
        let byteCount = end &- start
        guard byteCount <= Self.nameByteCountMax else { return .other }
        let tail = Self.word(bytes, from: max(start, end &- 8), to: end)
        let slot = Int(entries[Self.hash(tail, byteCount, multiplier)])
        guard slots[slot].tail == tail, slots[slot].byteCount == byteCount else { return .other }
        guard byteCount > 8 else { return slots[slot].known }
        let split = min(start &+ 8, end &- 8)
        guard slots[slot].first == Self.word(bytes, from: start, to: split),
            slots[slot].second == Self.word(bytes, from: split, to: end &- 8)
        else { return .other }
        return slots[slot].known
    }

    /// At most eight bytes in lower case, the last one in the lowest byte.
    @inline(__always)
    private static func word(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> UInt64 {
        let byteCount = end &- start
        guard byteCount > 0 else { return 0 }
        if end >= 8 {
            let word = bytes.littleEndianWord(at: end &- 8).byteSwapped | 0x2020_2020_2020_2020
            return word & (UInt64.max &>> UInt64(64 &- byteCount &* 8))
        }
        var word: UInt64 = 0
        for index in start..<end { word = word &<< 8 | UInt64(bytes[index] | 0x20) }
        return word
    }

    @inline(__always)
    private static func hash(_ tail: UInt64, _ byteCount: Int, _ multiplier: UInt64) -> Int {
        Int(truncatingIfNeeded: ((tail ^ UInt64(byteCount)) &* multiplier) &>> 54)
    }

    private static func slot(for known: KnownField) -> Slot {
        var slot = Slot()
        slot.known = known
        let name = Array(known.name.description.utf8)
        precondition(name.count <= nameByteCountMax)
        slot.byteCount = name.count
        let tailStart = max(0, name.count - 8)
        let split = min(8, tailStart)
        slot.tail = word(name.span, from: tailStart, to: name.count)
        slot.first = word(name.span, from: 0, to: split)
        slot.second = word(name.span, from: split, to: tailStart)
        return slot
    }

    /// Fills the table, or returns nil if two names meet in one entry.
    private static func fill(
        _ slots: InlineArray<64, Slot>, _ multiplier: UInt64
    ) -> InlineArray<1024, UInt8>? {
        var table = InlineArray<1024, UInt8>(repeating: 0)
        for index in slots.indices where slots[index].known != .other {
            let hash = hash(slots[index].tail, slots[index].byteCount, multiplier)
            guard table[hash] == 0 else { return nil }
            table[hash] = UInt8(index)
        }
        return table
    }
}
