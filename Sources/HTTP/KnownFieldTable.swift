/// Finds a known field by the length and the last eight bytes of its name.
///
/// A perfect hash: each of 1024 entries stands for at most one name. The whole name is then compared, so
/// that no made-up name passes for a known one.
enum KnownFieldTable {
    static let nameByteCountMax = 24

    private struct Slot {
        /// The name's last eight bytes in lower case, the last one lowest.
        var tail: UInt64 = 0
        /// The bytes before those: the first eight, then the rest.
        var first: UInt64 = 0
        var second: UInt64 = 0
        var byteCount = 0
        var known = KnownField.other
    }

    /// Entry 0 is no field; the others stand in the order of `KnownField.allCases`.
    private static let slots: [Slot] = KnownField.allCases.map(slot(for:))
    private static let multiplier: UInt64 = perfectMultiplier()
    /// For each hash the entry of `slots`.
    private static let entries: [UInt8] = fill(multiplier) ?? []

    @inline(__always)
    private static func hash(_ tail: UInt64, _ byteCount: Int, _ multiplier: UInt64) -> Int {
        Int(truncatingIfNeeded: ((tail ^ UInt64(byteCount)) &* multiplier) &>> 54)
    }

    /// `tail`: the last eight bytes (or all) of the name, each `| 0x20`, the last one lowest.
    ///
    /// Among bytes of a token only `^` and `_` change to anything but a lower-case letter by
    /// `| 0x20`, and no known name holds what they change to.
    @inline(__always)
    static func field(
        in bytes: Span<UInt8>, from start: Int, to end: Int, tail: UInt64
    ) -> KnownField {
        let byteCount = end &- start
        let slot = slots[Int(entries[hash(tail, byteCount, multiplier)])]
        guard slot.tail == tail, slot.byteCount == byteCount else { return .other }
        guard byteCount > 8 else { return slot.known }
        var first: UInt64 = 0
        var second: UInt64 = 0
        for index in start..<min(start &+ 8, end &- 8) {
            first = first &<< 8 | UInt64(bytes[index] | 0x20)
        }
        if byteCount > 16 {
            for index in start &+ 8..<end &- 8 {
                second = second &<< 8 | UInt64(bytes[index] | 0x20)
            }
        }
        return first == slot.first && second == slot.second ? slot.known : .other
    }

    private static func slot(for known: KnownField) -> Slot {
        var slot = Slot()
        slot.known = known
        let text = known.name.description
        let name = Array(text.utf8)
        precondition(name.count <= nameByteCountMax)
        slot.byteCount = name.count
        for byte in name.suffix(8) { slot.tail = slot.tail &<< 8 | UInt64(byte) }
        let rest = name.dropLast(8)
        for byte in rest.prefix(8) { slot.first = slot.first &<< 8 | UInt64(byte) }
        for byte in rest.dropFirst(8) { slot.second = slot.second &<< 8 | UInt64(byte) }
        return slot
    }

    /// Nil when two names meet in one entry.
    private static func fill(_ multiplier: UInt64) -> [UInt8]? {
        var table = [UInt8](repeating: 0, count: 1024)
        for (entry, slot) in slots.enumerated() where slot.known != .other {
            let index = hash(slot.tail, slot.byteCount, multiplier)
            guard table[index] == 0 else { return nil }
            table[index] = UInt8(entry)
        }
        return table
    }

    private static func perfectMultiplier() -> UInt64 {
        // Knuth's 2^64 / phi, then other odd numbers: one in a few is perfect.
        var candidate: UInt64 = 0x9E37_79B9_7F4A_7C15
        while fill(candidate) == nil { candidate &+= 0xD1B5_4A32_D192_ED02 }
        return candidate
    }
}
