import Bytes

/// The (key, challenge) pairs that were used and could still be presented again, each with its
/// counter or other mark.
///
/// Each is one word: 52 bits of a fingerprint of the pair, 12 bits of the mark, which only tell
/// a replay from a challenge used twice. Two pairs with one fingerprint (a chance of 2^-52 for each
/// remembered one) cost the client one more signature, never a replay. The words stand in two
/// generations; the older one is dropped as a whole once every challenge in it has expired, so
/// nothing is forgotten too early.
struct SpentChallenges: Sendable {
    private struct Generation: Sendable {
        var fingerprints = FingerprintSet()
        /// The time at which the last challenge in it has expired, in milliseconds.
        var forgetAt = Int64.min
    }

    private var current = Generation()
    private var previous = Generation()
    private var currentBeganAt = Int64.min
    /// Counts generations, so that a per-key count knows when it is out of date.
    private(set) var epoch: UInt32 = 0

    /// The time at which the last challenge has expired.
    var forgetAt: Int64 { max(current.forgetAt, previous.forgetAt) }

    var count: Int { current.fingerprints.count + previous.fingerprints.count }

    /// Tells if the pair was used, and if so whether with this mark.
    func use(of fingerprint: UInt64, mark: UInt32) -> Use {
        let word =
            current.fingerprints.word(matching: fingerprint)
            ?? previous.fingerprints.word(matching: fingerprint)
        guard let word else { return .none }
        return word == Self.word(fingerprint, mark) ? .sameMark : .otherMark
    }

    enum Use { case none, sameMark, otherMark }

    mutating func insert(_ fingerprint: UInt64, mark: UInt32, until forgetAt: Int64) {
        insert(word: Self.word(fingerprint, mark), until: forgetAt)
    }

    /// Inserts a word that is one of ``all``.
    mutating func insert(word: UInt64, until forgetAt: Int64) {
        current.fingerprints.insert(word)
        current.forgetAt = max(current.forgetAt, forgetAt)
    }

    private static func word(_ fingerprint: UInt64, _ mark: UInt32) -> UInt64 {
        fingerprint & FingerprintSet.fingerprintMask
            | UInt64(mark) & ~FingerprintSet.fingerprintMask
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

    /// Restores the state with these generations; `beganAt` belongs to the current one.
    init(
        current: some Sequence<UInt64>, until currentForgetAt: Int64, beganAt: Int64,
        previous: some Sequence<UInt64>, until previousForgetAt: Int64
    ) {
        for word in current { self.current.fingerprints.insert(word) }
        for word in previous { self.previous.fingerprints.insert(word) }
        self.current.forgetAt = currentForgetAt
        self.previous.forgetAt = previousForgetAt
        currentBeganAt = beganAt
    }

    init() {}

    /// The generations, as ``init(current:until:beganAt:previous:until:)`` takes them.
    var generations:
        (
            current: [UInt64], currentForgetAt: Int64, beganAt: Int64, previous: [UInt64],
            previousForgetAt: Int64
        )
    {
        (
            current.fingerprints.all, current.forgetAt, currentBeganAt, previous.fingerprints.all,
            previous.forgetAt
        )
    }

    var all: [UInt64] { current.fingerprints.all + previous.fingerprints.all }

    static func fingerprint(keyHash: UInt64, challenge: Bytes16) -> UInt64 {
        var mixed = keyHash ^ (challenge.word0 &* 0xD6E8_FEB8_6659_FD93)
        mixed ^= (challenge.word1 &* 0xA076_1D64_78BD_642F) &+ (challenge.word1 >> 31)
        mixed ^= mixed >> 32
        mixed &*= 0xE703_7ED1_A0B4_28DB
        mixed ^= mixed >> 29
        // 0 marks an empty slot.
        return mixed & FingerprintSet.fingerprintMask == 0 ? .max : mixed
    }
}

/// An open-addressing set of words whose upper 52 bits tell them apart and are not all 0: eight
/// bytes a slot, at most five eighths of them used.
struct FingerprintSet: Sendable {
    static let fingerprintMask = ~UInt64(0xFFF)

    private var slots: [UInt64] = []
    private(set) var count = 0

    func word(matching fingerprint: UInt64) -> UInt64? {
        guard count > 0 else { return nil }
        let slot = slot(for: fingerprint)
        return slots[slot] == 0 ? nil : slots[slot]
    }

    /// Inserts the word, unless a matching one is there.
    mutating func insert(_ word: UInt64) {
        precondition(word & Self.fingerprintMask != 0)
        if (count + 1) * 8 > slots.count * 5 { grow() }
        let slot = slot(for: word)
        guard slots[slot] == 0 else { return }
        slots[slot] = word
        count += 1
    }

    var all: [UInt64] { slots.filter { $0 != 0 } }

    /// The slot of the matching word, or the empty one where it belongs.
    private func slot(for word: UInt64) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: word >> 12) & mask
        while slots[slot] != 0, (slots[slot] ^ word) & Self.fingerprintMask != 0 {
            slot = (slot + 1) & mask
        }
        return slot
    }

    private mutating func grow() {
        let held = slots
        slots = [UInt64](repeating: 0, count: max(16, held.count * 2))
        for word in held where word != 0 { slots[slot(for: word)] = word }
    }
}
