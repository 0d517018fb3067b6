/// The counters that keys of a shard have used, a ring of bits for each key.
///
/// Bit `n % bitCount` of a ring says whether counter `n` was accepted, for the `bitCount` counters
/// that end with the highest one. Few keys use more than 64 counters within the minutes for which
/// they are kept. So a key begins with one word for its last 64 counters, and gets a whole ring
/// once one that it used falls out of those.
struct CounterRings: Sendable {
    /// The size of a whole ring, in words of 64 bits.
    let wordCount: Int
    /// The last 64 counters of each key, or the place of its whole ring in `wide`.
    private var recent: [UInt64] = []
    /// A bit for each key: true if it has a whole ring.
    private var isWide = BitList()
    private var wide: [UInt64] = []
    private var unused: [UInt64] = []

    init(wordCount: Int) { self.wordCount = wordCount }

    var bitCount: Int { wordCount * 64 }

    private static func bit(_ counter: UInt32) -> UInt64 { 1 << UInt64(counter % 64) }

    /// The word of a whole ring that has the counter's bit.
    private func word(of counter: UInt32, at entry: Int) -> Int {
        Int(recent[entry]) * wordCount + Int(counter) % bitCount / 64
    }

    // MARK: counters

    /// True if the counter, at most `bitCount - 1` below the highest, was accepted.
    func holds(_ counter: UInt32, below highest: UInt32, at entry: Int) -> Bool {
        if isWide[entry] {
            return wide[word(of: counter, at: entry)] & Self.bit(counter) != 0
        }
        return highest - counter < 64 && recent[entry] & Self.bit(counter) != 0
    }

    /// Accepts a counter at most `bitCount - 1` below `highest`, which is the highest one so far.
    mutating func accept(_ counter: UInt32, highest: UInt32, at entry: Int) {
        if counter > highest {
            raise(from: highest, to: counter, at: entry)
        } else if !isWide[entry], highest - counter >= 64 {
            widen(entry, highest: highest)
        }
        if isWide[entry] {
            wide[word(of: counter, at: entry)] |= Self.bit(counter)
        } else {
            recent[entry] |= Self.bit(counter)
        }
    }

    /// The counters skipped over become unseen ones; their bits belonged to older counters.
    mutating func raise(from highest: UInt32, to counter: UInt32, at entry: Int) {
        let step = Int(counter - highest)
        guard step < bitCount else { return clear(entry) }
        if !isWide[entry] {
            let bits = step < 64 ? (UInt64(1) << UInt64(step)) &- 1 : .max
            let shift = UInt64((highest &+ 1) % 64)
            let passed = bits << shift | (shift == 0 ? 0 : bits >> (64 - shift))
            guard recent[entry] & passed != 0, wordCount > 1 else {
                recent[entry] &= ~passed
                return
            }
            widen(entry, highest: highest)
        }
        for skipped in highest + 1...counter {
            wide[word(of: skipped, at: entry)] &= ~Self.bit(skipped)
        }
    }

    private mutating func widen(_ entry: Int, highest: UInt32) {
        let bits = recent[entry]
        if let place = unused.popLast() {
            recent[entry] = place
        } else {
            recent[entry] = UInt64(wide.count / wordCount)
            for _ in 0..<wordCount { wide.append(0) }
        }
        isWide[entry] = true
        for counter in highest - min(highest, 63)...highest where bits & Self.bit(counter) != 0 {
            wide[word(of: counter, at: entry)] |= Self.bit(counter)
        }
    }

    private mutating func clear(_ entry: Int) {
        if isWide[entry] {
            let start = Int(recent[entry]) * wordCount
            for word in start..<start + wordCount { wide[word] = 0 }
            unused.append(recent[entry])
            isWide[entry] = false
        }
        recent[entry] = 0
    }

    // MARK: entries

    mutating func append() {
        recent.append(0)
        isWide.append(false)
    }

    /// Forgets an entry. The last one moves into the gap.
    mutating func removeDensely(at entry: Int) {
        clear(entry)
        recent.removeDensely(at: entry)
        isWide.removeDensely(at: entry)
    }

    // MARK: snapshot

    /// The words of an entry's whole ring.
    func words(of entry: Int, highest: UInt32) -> [UInt64] {
        if isWide[entry] {
            let start = Int(recent[entry]) * wordCount
            return Array(wide[start..<start + wordCount])
        }
        var words = [UInt64](repeating: 0, count: wordCount)
        for counter in highest - min(highest, 63)...highest {
            words[Int(counter) % bitCount / 64] |= recent[entry] & Self.bit(counter)
        }
        return words
    }

    /// Gives a new entry the words of a whole ring.
    mutating func restore(_ words: [UInt64], highest: UInt32, at entry: Int) {
        for (index, word) in words.enumerated() where word != 0 {
            for bit in 0..<64 where word & 1 << UInt64(bit) != 0 {
                // The highest counter or one below it has this bit.
                let below = (Int(highest) - index * 64 - bit) % bitCount
                let distance = UInt32(below < 0 ? below + bitCount : below)
                guard distance <= highest else { continue }
                accept(highest - distance, highest: highest, at: entry)
            }
        }
    }
}
