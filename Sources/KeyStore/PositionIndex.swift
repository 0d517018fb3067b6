import Attestation
import Bytes

/// The places of the ids of keys.
typealias KeyIndex = PositionIndex<KeyID>

/// A key of a ``PositionIndex``. Its bytes are a digest, so that a part of them is hash enough.
protocol IndexedKey: Equatable {
    var indexHash: UInt64 { get }
}

extension KeyID: IndexedKey {
    /// Ids are SHA-256 digests of keys that a platform vouched for.
    var indexHash: UInt64 { digest.word0 ^ digest.word1 ^ digest.word3 }
}

extension Bytes16: IndexedKey {
    var indexHash: UInt64 { word0 ^ (word1 &* 0xC2B2_AE3D_27D4_EB4F) }
}

/// Finds the place of a key in an array that the caller owns: an open-addressing table of
/// positions, without an object or a copy of the key per entry.
struct PositionIndex<Key: IndexedKey> {
    private var slots = PositionSlots(count: 16)
    private var heldCount = 0

    private static func hash(_ key: Key) -> Int {
        Int(truncatingIfNeeded: (key.indexHash &* 0x9E37_79B9_7F4A_7C15) >> 24)
    }

    /// The position under which `key` was inserted.
    func position(of key: Key, in keys: [Key]) -> Int? {
        let mask = slots.count - 1
        var slot = Self.hash(key) & mask
        while let position = slots[slot] {
            if keys[position] == key { return position }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// Inserts a key. `keys[position]` must hold the key, which is not in the index yet.
    mutating func insert(_ position: Int, in keys: [Key]) {
        if (heldCount + 1) * 3 > slots.count * 2 { grow(keys) }
        place(position, hash: Self.hash(keys[position]))
        heldCount += 1
    }

    /// Removes a key. `keys[position]` must still hold it.
    mutating func remove(_ position: Int, in keys: [Key]) {
        guard var hole = slot(of: position, in: keys) else { return }
        let mask = slots.count - 1
        var slot = hole
        // Later entries of the run move up, so that no search stops early (Knuth, 6.4 R).
        while true {
            slot = (slot + 1) & mask
            guard let later = slots[slot] else { break }
            let home = Self.hash(keys[later]) & mask
            if (slot - home) & mask >= (slot - hole) & mask {
                slots[hole] = later
                hole = slot
            }
        }
        slots[hole] = nil
        heldCount -= 1
    }

    /// Notes that the entry at `position` is about to move to `newPosition`.
    mutating func move(_ position: Int, to newPosition: Int, in keys: [Key]) {
        guard let slot = slot(of: position, in: keys) else { return }
        slots[slot] = newPosition
    }

    mutating func removeAll() { self = PositionIndex() }

    private func slot(of position: Int, in keys: [Key]) -> Int? {
        let mask = slots.count - 1
        var slot = Self.hash(keys[position]) & mask
        while let held = slots[slot] {
            if held == position { return slot }
            slot = (slot + 1) & mask
        }
        return nil
    }

    private mutating func place(_ position: Int, hash: Int) {
        let mask = slots.count - 1
        var slot = hash & mask
        while slots[slot] != nil { slot = (slot + 1) & mask }
        slots[slot] = position
    }

    private mutating func grow(_ keys: [Key]) {
        let held = slots
        slots = PositionSlots(count: held.count * 2)
        for slot in 0..<held.count {
            guard let position = held[slot] else { continue }
            place(position, hash: Self.hash(keys[position]))
        }
    }
}

/// Slots for positions: two bytes each, four in a table so large that its positions need them.
private struct PositionSlots {
    /// The lower halves of the positions plus one; zero in both halves for an empty slot.
    private var low: [UInt16]
    private var high: [UInt16]

    /// - Parameter count: a power of two; fewer positions than that are held.
    init(count: Int) {
        low = Array(repeating: 0, count: count)
        high = count > 1 << 16 ? low : []
    }

    var count: Int { low.count }

    subscript(slot: Int) -> Int? {
        get {
            let upper = high.isEmpty ? 0 : Int(high[slot]) << 16
            let held = upper | Int(low[slot])
            return held == 0 ? nil : held - 1
        }
        set {
            let held = newValue.map { $0 + 1 } ?? 0
            if high.isEmpty {
                low[slot] = UInt16(held)
            } else {
                low[slot] = UInt16(truncatingIfNeeded: held)
                high[slot] = UInt16(held >> 16)
            }
        }
    }
}
