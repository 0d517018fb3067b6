/// A list of bits, eight in a byte.
struct BitList: Sendable {
    private var words: [UInt64] = []
    private var count = 0

    mutating func append(_ bit: Bool) {
        if count % 64 == 0 { words.append(0) }
        count += 1
        self[count - 1] = bit
    }

    /// Removes the bit at `index`. The last one takes its place, as in `Array.removeDensely(at:)`.
    mutating func removeDensely(at index: Int) {
        self[index] = self[count - 1]
        count -= 1
        if count % 64 == 0 { words.removeLast() }
    }

    subscript(index: Int) -> Bool {
        get { words[index / 64] & 1 << UInt64(index % 64) != 0 }
        set {
            let bit: UInt64 = 1 << UInt64(index % 64)
            if newValue { words[index / 64] |= bit } else { words[index / 64] &= ~bit }
        }
    }
}
