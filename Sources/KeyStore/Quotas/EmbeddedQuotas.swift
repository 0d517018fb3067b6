import Bytes
import EventLoop

/// The counts of quotas in the memory of one process, shared by all workers and answered at once.
///
/// They are lost with the process, unless a file keeps them: it takes those that have changed every
/// second, and restores them at the next start.
/// Every `nowMilliseconds` is of the monotonic clock, every `wallMilliseconds` since 1970. Any
/// thread may call.
public final class EmbeddedQuotas: Sendable {
    /// The bounds of the counts.
    public struct Options: Hashable, Sendable {
        /// The most counts, 49 to 60 bytes each: 210 MB if all are there. Beyond it, new counts are
        /// refused as `full`, and those that are there go on.
        public var countMax = 4_194_304
        /// The time for which the counts of a period are kept after its end, for requests that come
        /// from it, and for a wall clock that is ahead for a while at a start.
        public var graceMilliseconds = 600_000

        public init() {}
    }

    static let shardCount = 32

    /// How the file is doing that keeps the counts for the next start.
    public let fileState = QuotaFileState()
    private let graceMilliseconds: Int64
    private let shards: [Locked<QuotaShard>]

    public init(options: Options = Options()) {
        graceMilliseconds = Int64(min(max(0, options.graceMilliseconds), 1 << 40))
        let shard = QuotaShard(
            countMax: max(1, options.countMax / Self.shardCount), grace: graceMilliseconds)
        shards = (0..<Self.shardCount).map { _ in Locked(shard) }
    }

    /// Makes a charge, or changes nothing.
    public func charge(
        _ charge: QuotaCharge, nowMilliseconds: Int64, wallMilliseconds: Int64
    ) -> QuotaVerdict {
        shard(charge.count.name).withLock {
            $0.charge(charge, now: nowMilliseconds, wall: wallMilliseconds)
        }
    }

    /// The sums of a count; nil if nothing was taken yet, or if its period has ended.
    public func sums(of count: QuotaCount) -> QuotaSums? {
        shard(count.name).withLock { $0.sums(of: count) }
    }

    /// Forgets the counts of ended periods among `stepCount` entries of each shard: for a slow
    /// timer.
    public func sweep(
        nowMilliseconds: Int64, wallMilliseconds: Int64, stepCount: Int = 4096
    ) {
        for shard in shards {
            shard.withLock {
                $0.sweep(now: nowMilliseconds, wall: wallMilliseconds, stepCount: stepCount)
            }
        }
    }

    /// The number of counts in memory.
    public var countCount: Int { shards.reduce(0) { $0 + $1.withLock { $0.countCount } } }

    /// Ends the counts: every charge is `unavailable` from now on.
    public func close() {
        for shard in shards { shard.withLock { $0.close() } }
    }

    // MARK: the file

    /// Takes in what a file knows of a count. False if there is no room for it.
    public func restore(
        _ count: QuotaCount, _ sums: QuotaSums, nowMilliseconds: Int64, wallMilliseconds: Int64
    ) -> Bool {
        shard(count.name).withLock {
            $0.restore(count, sums, now: nowMilliseconds, wall: wallMilliseconds)
        }
    }

    /// At most so many of the counts that have changed since they were taken last.
    public func takeChanges(countMax: Int) -> [(count: QuotaCount, sums: QuotaSums)] {
        var taken: [(count: QuotaCount, sums: QuotaSums)] = []
        for shard in shards where taken.count < countMax {
            taken += shard.withLock { $0.takeChanges(countMax: countMax - taken.count) }
        }
        return taken
    }

    /// Has counts taken again that could not be written.
    public func markChanged(_ counts: some Sequence<QuotaCount>) {
        for count in counts { shard(count.name).withLock { $0.markChanged(count) } }
    }

    /// Has all counts taken again, for a new file.
    public func markAllChanged() {
        for shard in shards { shard.withLock { $0.markAllChanged() } }
    }

    /// True if a file need not keep the counts of a period any more: it has ended by the wall clock
    /// too, and no count of it is in memory.
    public func isOver(_ period: Range<Int64>, wallMilliseconds: Int64) -> Bool {
        guard wallMilliseconds > period.upperBound + graceMilliseconds else { return false }
        return !shards.contains { $0.withLock { $0.holds(period) } }
    }

    private func shard(_ name: Bytes16) -> Locked<QuotaShard> {
        // The index looks at other bits.
        shards[Int((name.word1 &* 0xC2B2_AE3D_27D4_EB4F) >> 59)]
    }
}
