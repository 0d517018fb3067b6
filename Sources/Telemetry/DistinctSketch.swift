/// Counts different things in 256 bytes: up to 31 exactly, by their hashes, and more within some
/// 7 %, by HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007).
public struct DistinctSketch: Sendable {
    /// The most things that are counted exactly. One more would take as many bytes as registers do,
    /// and the number of bytes tells the two forms apart.
    public static let exactCountMax = 31
    private static let registerCount = 256
    private static let rankMax: UInt8 = 57
    /// Marks a last word that has the number of hashes: as a register it would be above `rankMax`.
    private static let hashMark: UInt64 = 0xFF << 56

    /// The hashes and their number, or the registers, eight to a word. A register holds one more
    /// than the longest run of zeros at the beginning of a hash.
    private var words = InlineArray<32, UInt64>(repeating: 0)

    public init() { words[31] = Self.hashMark }

    /// The number of hashes; nil if `words` are registers.
    private var hashCount: Int? {
        words[31] >= Self.hashMark ? Int(words[31] & 0xFF) : nil
    }

    /// Restores the form that ``bytes`` has. Nil for bytes that no sketch has.
    public init?(bytes: [UInt8]) {
        guard bytes.count <= Self.registerCount, bytes.count % 8 == 0 else { return nil }
        if bytes.count < Self.registerCount {
            words[31] = Self.hashMark | UInt64(bytes.count / 8)
        } else if bytes.contains(where: { $0 > Self.rankMax }) {
            return nil
        }
        for (index, byte) in bytes.enumerated() {
            words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8)
        }
    }

    /// The hashes, each of eight bytes beginning with the lowest, or the 256 registers.
    public var bytes: [UInt8] {
        (0..<(hashCount ?? 32) * 8).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> ($0 % 8 * 8)) }
    }

    /// Adds a thing by its hash; true if the count may have grown. The bits of a hash must be
    /// evenly distributed.
    public mutating func add(_ hash: UInt64) -> Bool {
        guard let count = hashCount else { return addToRegister(hash) }
        for index in 0..<count where words[index] == hash { return false }
        guard count < Self.exactCountMax else {
            turnIntoRegisters()
            return addToRegister(hash)
        }
        words[count] = hash
        words[31] += 1
        return true
    }

    /// The sketch of all things that are in either.
    public func union(_ other: DistinctSketch) -> DistinctSketch {
        var (union, few) = other.hashCount == nil ? (other, self) : (self, other)
        if let count = few.hashCount {
            for index in 0..<count { _ = union.add(few.words[index]) }
            return union
        }
        for index in 0..<Self.registerCount {
            union.setRegister(index, max(union.register(index), few.register(index)))
        }
        return union
    }

    /// The number of different things.
    public var count: Int {
        if let hashCount { return hashCount }
        var emptyCount = 0
        var sum = 0.0
        for index in 0..<Self.registerCount {
            let rank = register(index)
            if rank == 0 { emptyCount += 1 }
            sum += Double(sign: .plus, exponent: -Int(rank), significand: 1)
        }
        let raw = Self.bias * 65_536 / sum
        guard raw < 640, emptyCount > 0 else { return Int(raw.rounded()) }
        return Self.fewCounts[emptyCount]
    }

    // MARK: registers

    private func register(_ index: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: words[index / 8] >> UInt64(index % 8 * 8))
    }

    private mutating func setRegister(_ index: Int, _ rank: UInt8) {
        let shift = UInt64(index % 8 * 8)
        words[index / 8] = words[index / 8] & ~(0xFF << shift) | UInt64(rank) << shift
    }

    private mutating func addToRegister(_ hash: UInt64) -> Bool {
        let index = Int(hash & 0xFF)
        let rank = UInt8(1 + (hash >> 8 | 1 << 56).trailingZeroBitCount)
        guard rank > register(index) else { return false }
        setRegister(index, rank)
        return true
    }

    private mutating func turnIntoRegisters() {
        let hashes = self
        words = InlineArray(repeating: 0)
        for index in 0..<Self.exactCountMax { _ = addToRegister(hashes.words[index]) }
    }

    /// The constant alpha of the paper for 256 registers.
    private static let bias = 0.7213 / (1 + 1.079 / 256)

    /// The counts by the number of empty registers: the average number of things that leaves so
    /// few, which linear counting approximates by a logarithm (the coupon collector's problem).
    private static let fewCounts: [Int] = {
        var counts = [Int](repeating: 0, count: 257)
        var sum = 0.0
        for emptyCount in stride(from: 255, through: 1, by: -1) {
            sum += 256 / Double(emptyCount + 1)
            counts[emptyCount] = Int(sum.rounded())
        }
        return counts
    }()
}
