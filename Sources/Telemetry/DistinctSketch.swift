/// Counts how many different things were seen, in 256 bytes and within some 7 %, by HyperLogLog
/// (Flajolet, Fusy, Gandouet, Meunier 2007). While they are few the count is usually exact.
public struct DistinctSketch: Sendable {
    /// The registers: in each, one more than the longest run of zeros that began a hash.
    private var registers = InlineArray<256, UInt8>(repeating: 0)

    public init() {}

    /// Adds what has this hash; true if the estimate may have grown. The bits of a hash must be
    /// even.
    public mutating func add(_ hash: UInt64) -> Bool {
        let (index, rank) = Self.register(of: hash)
        guard rank > registers[Int(index)] else { return false }
        registers[Int(index)] = rank
        return true
    }

    /// Which register what has this hash raises, and to what.
    public static func register(of hash: UInt64) -> (index: UInt8, rank: UInt8) {
        let zeroCount = min(56, (hash >> 8 | 1 << 56).trailingZeroBitCount)
        return (UInt8(truncatingIfNeeded: hash), UInt8(zeroCount + 1))
    }

    /// Restores registers that were kept elsewhere; empty for none. Nil for another number of
    /// registers.
    public init?(registers: [UInt8]) {
        if registers.isEmpty { return }
        guard registers.count == 256 else { return nil }
        for index in 0..<256 { self.registers[index] = registers[index] }
    }

    /// The sketch of everything that either has seen.
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

    /// alpha of the paper for 256 registers.
    private static let bias = 0.7213 / (1 + 1.079 / 256)

    /// The counts by the number of empty registers: how many things it takes on average to leave so
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
