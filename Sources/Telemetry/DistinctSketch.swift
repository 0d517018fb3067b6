/// Counts different things in 256 bytes and within some 7 %, by HyperLogLog (Flajolet, Fusy,
/// Gandouet, Meunier 2007). The count of a few things is usually exact.
public struct DistinctSketch: Sendable {
    /// The registers. Each holds one more than the longest run of zeros at the beginning of a hash.
    private var registers = InlineArray<256, UInt8>(repeating: 0)

    public init() {}

    /// Adds a thing by its hash; true if the estimate may have grown. The bits of a hash must be
    /// evenly distributed.
    public mutating func add(_ hash: UInt64) -> Bool {
        let (index, rank) = Self.register(of: hash)
        guard rank > registers[Int(index)] else { return false }
        registers[Int(index)] = rank
        return true
    }

    /// The register that a hash raises, and its new value.
    public static func register(of hash: UInt64) -> (index: UInt8, rank: UInt8) {
        let zeroCount = min(56, (hash >> 8 | 1 << 56).trailingZeroBitCount)
        return (UInt8(truncatingIfNeeded: hash), UInt8(zeroCount + 1))
    }

    /// Restores stored registers; empty for none. Nil for another number of registers.
    public init?(registers: [UInt8]) {
        if registers.isEmpty { return }
        guard registers.count == 256 else { return nil }
        for index in 0..<256 { self.registers[index] = registers[index] }
    }

    /// The sketch of all things that are in either.
    public func union(_ other: DistinctSketch) -> DistinctSketch {
        var union = self
        for index in 0..<256 where other.registers[index] > union.registers[index] {
            union.registers[index] = other.registers[index]
        }
        return union
    }

    public var estimate: Int {
        var emptyCount = 0
        var sum = 0.0
        for index in 0..<256 {
            if registers[index] == 0 { emptyCount += 1 }
            sum += Double(sign: .plus, exponent: -Int(registers[index]), significand: 1)
        }
        let raw = Self.bias * 65_536 / sum
        guard raw < 640, emptyCount > 0 else { return Int(raw.rounded()) }
        return Self.fewCounts[emptyCount]
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
