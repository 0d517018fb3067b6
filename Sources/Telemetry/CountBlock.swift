/// One thread's counters: that thread adds, any thread reads. A scrape sums the workers' blocks.
public final class CountBlock: Sendable {
    private let block: AtomicBlock

    /// Makes counters that are all zero.
    public init(count: Int) { block = AtomicBlock(count: count) }

    public var count: Int { block.count }

    /// Adds to a counter. Only the thread that owns the block may do so.
    public func add(_ index: Int, _ amount: UInt64 = 1) { block.add(amount, at: index) }

    public func value(_ index: Int) -> UInt64 { block.value(at: index) }
}

/// One thread's present amounts, such as open connections: that thread writes, any thread reads.
public final class GaugeBlock: Sendable {
    private let block: AtomicBlock

    /// Makes amounts that are all zero.
    public init(count: Int) { block = AtomicBlock(count: count) }

    public var count: Int { block.count }

    /// Sets an amount. Only the thread that owns the block may do so.
    public func set(_ index: Int, _ value: Int64) {
        block.set(UInt64(bitPattern: value), at: index)
    }

    /// Adds `amount`, which may be negative. Only the thread that owns the block may do so.
    public func add(_ index: Int, _ amount: Int64) {
        block.add(UInt64(bitPattern: amount), at: index)
    }

    public func value(_ index: Int) -> Int64 { Int64(bitPattern: block.value(at: index)) }
}
