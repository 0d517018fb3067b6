/// Finds a path, or each of its prefixes, among fixed ones without copying it.
///
/// Open addressing over FNV-1a, whose hash of each prefix is computed while the path is read.
struct PathIndex: Sendable {
    static let hashStart: UInt64 = 0xCBF2_9CE4_8422_2325

    @inline(__always)
    static func hash(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
        (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }

    private struct Entry {
        var hash: UInt64
        var start: Int
        var byteCount: Int
        var value: Int
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    /// The entry's number plus one, 0 for a free slot. The count is a power of two, and at most
    /// half are used.
    private var slots: [UInt32]

    /// - Parameter paths: different from each other. The value of a path is its position.
    init(_ paths: [[UInt8]]) {
        var slotCount = 8
        while slotCount < paths.count * 2 { slotCount *= 2 }
        slots = [UInt32](repeating: 0, count: slotCount)
        for (value, path) in paths.enumerated() {
            let hash = path.reduce(Self.hashStart) { Self.hash($0, $1) }
            let entry = Entry(hash: hash, start: bytes.count, byteCount: path.count, value: value)
            bytes += path
            entries.append(entry)
            var slot = Self.firstSlot(hash, slotCount)
            while slots[slot] != 0 { slot = (slot + 1) & (slotCount - 1) }
            slots[slot] = UInt32(entries.count)
        }
    }

    /// The value of `path`'s first `byteCount` bytes, with a slash after them if `addingSlash`;
    /// `hash` is the hash of these bytes.
    @inline(__always)
    func value(
        hash: UInt64, path: Span<UInt8>, byteCount: Int, addingSlash: Bool = false
    ) -> Int? {
        var slot = Self.firstSlot(hash, slots.count)
        while slots[slot] != 0 {
            let entry = entries[Int(slots[slot]) - 1]
            if entry.hash == hash, isSame(entry, path, byteCount, addingSlash) {
                return entry.value
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private func isSame(
        _ entry: Entry, _ path: Span<UInt8>, _ byteCount: Int, _ addingSlash: Bool
    ) -> Bool {
        guard entry.byteCount == byteCount + (addingSlash ? 1 : 0) else { return false }
        for index in 0..<byteCount where bytes[entry.start + index] != path[index] {
            return false
        }
        return !addingSlash || bytes[entry.start + byteCount] == 0x2F
    }

    private static func firstSlot(_ hash: UInt64, _ slotCount: Int) -> Int {
        // The high bits of FNV's product depend on more of the path than the low ones.
        Int(truncatingIfNeeded: hash ^ hash &>> 32) & (slotCount - 1)
    }
}
