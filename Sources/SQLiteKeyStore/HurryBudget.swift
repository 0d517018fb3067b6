package import EventLoop

/// How much of its time a worker may lose to reads that turn out to need the disk.
///
/// A miss orders the page before it says that it would have to wait, and on a disk with a full
/// queue that alone takes milliseconds. So nothing is tried after it for a hundred times as long as
/// it took. Where most keys are not in memory, most are asked for at once.
package struct HurryBudget {
    /// The inverse of the share of time.
    private static let restPerMiss: UInt64 = 100
    private var restsUntil = MonotonicInstant(nanoseconds: 0)

    package init() {}

    package func allows(at now: MonotonicInstant) -> Bool { now >= restsUntil }

    package mutating func miss(from start: MonotonicInstant, to end: MonotonicInstant) {
        let nanoseconds = end.nanoseconds - start.nanoseconds
        restsUntil = end.advanced(byNanoseconds: nanoseconds * Self.restPerMiss)
    }
}
