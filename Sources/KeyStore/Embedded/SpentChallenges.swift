import AppAttest
import Bytes

/// Which (key, challenge) pairs were used and could still be presented again.
///
/// Held as 64-bit fingerprints in two generations: the older one is dropped as a whole once every
/// challenge in it has expired. Nothing is forgotten too early. Two pairs with one fingerprint (a
/// chance of 2^-64 for each remembered one) cost the client one more signature, never a replay.
struct SpentChallenges: Sendable {
    private struct Generation: Sendable {
        var fingerprints = FingerprintSet()
        /// When the last challenge in it has expired, in milliseconds.
        var forgetAt = Int64.min
    }

    private var current = Generation()
    private var previous = Generation()
    private var currentBeganAt = Int64.min
    /// Counts generations, so that a per-key count knows when it is out of date.
    private(set) var epoch: UInt32 = 0

    var count: Int { current.fingerprints.count + previous.fingerprints.count }

    func contains(_ fingerprint: UInt64) -> Bool {
        current.fingerprints.contains(fingerprint) || previous.fingerprints.contains(fingerprint)
    }

    mutating func insert(_ fingerprint: UInt64, until forgetAt: Int64) {
        current.fingerprints.insert(fingerprint)
        current.forgetAt = max(current.forgetAt, forgetAt)
    }

    /// Starts another generation once the current one is `lifeMilliseconds` old and the one before
    /// it has expired.
    mutating func rotate(now: Int64, lifeMilliseconds: Int64) {
        if currentBeganAt == .min { currentBeganAt = now }
        guard now - currentBeganAt >= lifeMilliseconds, previous.forgetAt <= now else { return }
        previous = current
        current = Generation()
        currentBeganAt = now
        epoch &+= 1
    }

    var all: [UInt64] { current.fingerprints.all + previous.fingerprints.all }

    static func fingerprint(keyHash: UInt64, challenge: Bytes16) -> UInt64 {
        var mixed = keyHash ^ (challenge.word0 &* 0xD6E8_FEB8_6659_FD93)
        mixed ^= (challenge.word1 &* 0xA076_1D64_78BD_642F) &+ (challenge.word1 >> 31)
        mixed ^= mixed >> 32
        mixed &*= 0xE703_7ED1_A0B4_28DB
        mixed ^= mixed >> 29
        // 0 marks an empty slot.
        return mixed == 0 ? 1 : mixed
    }
}

/// An open-addressing set of non-zero words: eight bytes a slot, at most five eighths of them used.
struct FingerprintSet: Sendable {
    private var slots: [UInt64] = []
    private(set) var count = 0

    func contains(_ word: UInt64) -> Bool {
        guard count > 0 else { return false }
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: word >> 8) & mask
        while slots[slot] != 0 {
            if slots[slot] == word { return true }
            slot = (slot + 1) & mask
        }
        return false
    }

    mutating func insert(_ word: UInt64) {
        precondition(word != 0)
        if (count + 1) * 8 > slots.count * 5 { grow() }
        if place(word) { count += 1 }
    }

    var all: [UInt64] { slots.filter { $0 != 0 } }

    private mutating func place(_ word: UInt64) -> Bool {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: word >> 8) & mask
        while slots[slot] != 0 {
            if slots[slot] == word { return false }
            slot = (slot + 1) & mask
        }
        slots[slot] = word
        return true
    }

    private mutating func grow() {
        let held = slots
        slots = [UInt64](repeating: 0, count: max(16, held.count * 2))
        for word in held where word != 0 { _ = place(word) }
    }
}
