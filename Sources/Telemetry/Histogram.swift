/// The upper edges of a histogram's buckets. One more bucket counts everything beyond the last.
public struct HistogramBounds: Sendable {
    /// The bounds, ascending. A duration equal to a bound belongs to its bucket.
    public let nanoseconds: [UInt64]
    /// The bounds in seconds, in the form of the label `le`.
    let labels: [String]

    public init(nanoseconds: [UInt64]) {
        precondition(!nanoseconds.isEmpty)
        for index in nanoseconds.indices.dropFirst() {
            precondition(nanoseconds[index - 1] < nanoseconds[index])
        }
        self.nanoseconds = nanoseconds
        labels = nanoseconds.map { DecimalSeconds.text(nanoseconds: $0) }
    }

    /// Bounds from half a millisecond, less than any upstream takes, to a minute, the longest
    /// time-out.
    public static let requestDuration = HistogramBounds(nanoseconds: [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
        100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000,
        10_000_000_000, 30_000_000_000, 60_000_000_000,
    ])

    /// Bounds for answers of stores: a tenth of a millisecond, a Redis on the same machine, to
    /// beyond the longest time that one is waited for by default.
    public static let storeDuration = HistogramBounds(nanoseconds: [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000,
        50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000,
        10_000_000_000,
    ])

    /// Bounds for steps inside the gateway, such as one signature: ten microseconds to a second.
    public static let stepDuration = HistogramBounds(nanoseconds: [
        10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
        10_000_000, 25_000_000, 100_000_000, 1_000_000_000,
    ])
}

/// Counts durations by length. One thread records; any thread reads.
public final class Histogram: Sendable {
    public let bounds: HistogramBounds
    /// A count for each bucket, one for everything beyond, and the sum of all durations.
    private let block: AtomicBlock

    public init(_ bounds: HistogramBounds) {
        self.bounds = bounds
        block = AtomicBlock(count: bounds.nanoseconds.count + 2)
    }

    /// Records a duration. Only the thread that owns the histogram may do so.
    public func record(nanoseconds: UInt64) {
        let edges = bounds.nanoseconds
        var bucket = 0
        while bucket < edges.count, nanoseconds > edges[bucket] { bucket += 1 }
        block.add(1, at: bucket)
        block.add(nanoseconds, at: edges.count + 1)
    }

    fileprivate func bucketCount(_ index: Int) -> UInt64 { block.value(at: index) }
    fileprivate var sum: UInt64 { block.value(at: bounds.nanoseconds.count + 1) }
}

/// The sum of several threads' histograms at one moment.
public struct HistogramSnapshot: Sendable {
    public let bounds: HistogramBounds
    /// The counts of the buckets, not cumulative. The last one counts durations beyond every bound.
    public private(set) var bucketCounts: [UInt64]
    public private(set) var sumNanoseconds: UInt64 = 0

    public init(_ bounds: HistogramBounds) {
        self.bounds = bounds
        bucketCounts = Array(repeating: 0, count: bounds.nanoseconds.count + 1)
    }

    /// The number of recorded durations.
    public var count: UInt64 { bucketCounts.reduce(0, &+) }

    /// Takes the counts of the buckets, or their differences. Nil for another number of counts.
    public init?(_ bounds: HistogramBounds, bucketCounts: some Collection<UInt64>) {
        guard bucketCounts.count == bounds.nanoseconds.count + 1 else { return nil }
        self.bounds = bounds
        self.bucketCounts = Array(bucketCounts)
    }

    /// The duration in nanoseconds that `share` (0 to 1) of the recorded ones do not exceed; nil if
    /// none was recorded. Durations are assumed to be evenly spread inside a bucket. Beyond the
    /// last bound, the bound itself is returned.
    public func quantile(_ share: Double) -> Double? {
        let count = count
        guard count > 0 else { return nil }
        let rank = min(1, max(0, share)) * Double(count)
        var below: UInt64 = 0
        var edge = 0.0
        for (bucketCount, bound) in zip(bucketCounts, bounds.nanoseconds) {
            let next = below &+ bucketCount
            if bucketCount > 0, Double(next) >= rank {
                let part = max(0, rank - Double(below)) / Double(bucketCount)
                return edge + (Double(bound) - edge) * part
            }
            below = next
            edge = Double(bound)
        }
        return edge
    }

    /// Adds a histogram of the same bounds.
    public mutating func add(_ histogram: Histogram) {
        precondition(histogram.bounds.nanoseconds == bounds.nanoseconds)
        for index in bucketCounts.indices { bucketCounts[index] &+= histogram.bucketCount(index) }
        sumNanoseconds &+= histogram.sum
    }
}
