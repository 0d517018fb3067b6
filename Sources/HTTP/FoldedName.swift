/// Names of fields as the most careless servers read them: ASCII case is folded, and each byte that
/// is neither letter nor digit counts as `-`.
enum FoldedName {
    @inline(__always)
    static func fold(_ byte: UInt8) -> UInt8 {
        switch byte {
        case 0x41...0x5A: byte | 0x20
        case 0x30...0x39, 0x61...0x7A: byte
        default: 0x2D
        }
    }

    /// Folds the eight bytes of a word.
    @inline(__always)
    static func fold(_ word: UInt64) -> UInt64 {
        let kinds = Kinds(word)
        let plain = (kinds.alphanumeric &>> 7) &* 0xFF
        let lowered = kinds.low | kinds.upper &>> 2
        return lowered & plain | hyphens & ~plain
    }

    /// True if all eight bytes are letters, digits or hyphens.
    @inline(__always)
    static func isPlain(_ word: UInt64) -> Bool {
        let kinds = Kinds(word)
        // Zero if the byte is a hyphen; only then does adding leave the high bit clear.
        let others = ((kinds.low ^ hyphens) &+ ones &* 0x7F | word) & highs
        return others & ~kinds.alphanumeric == 0
    }

    /// The kind of each byte of a word: a flag is the high bit of its byte.
    private struct Kinds {
        /// The low seven bits of each byte, so that no sum carries.
        let low: UInt64
        let upper: UInt64
        let alphanumeric: UInt64

        @inline(__always)
        init(_ word: UInt64) {
            low = word & ~highs
            upper = Self.isAtLeast(low, 0x41) & ~Self.isAtLeast(low, 0x5B) & ~word & highs
            let lower = Self.isAtLeast(low, 0x61) & ~Self.isAtLeast(low, 0x7B)
            let figure = Self.isAtLeast(low, 0x30) & ~Self.isAtLeast(low, 0x3A)
            alphanumeric = (upper | lower | figure) & ~word & highs
        }

        @inline(__always)
        private static func isAtLeast(_ low: UInt64, _ byte: UInt64) -> UInt64 {
            low &+ ones &* (0x80 &- byte)
        }
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080
    private static let hyphens: UInt64 = 0x2D2D_2D2D_2D2D_2D2D
}
