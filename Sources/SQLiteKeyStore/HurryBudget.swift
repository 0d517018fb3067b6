package import EventLoop
import Synchronization

/// The share of its time that a worker may lose to reads that turn out to need the disk.
///
/// A miss orders the page before it reports that it would have to wait, and on a disk with a full
/// queue that alone takes milliseconds. So after a miss nothing is tried for a hundred times as
/// long as it took. If most keys are not in memory, the reader is asked for most of them at once.
package final class HurryBudget: Sendable {
    /// The inverse of that share.
    private static let restPerMiss: UInt64 = 100
    /// The end of the rest in nanoseconds; `UInt64.max` until the file is opened again.
    private let restsUntil = Atomic<UInt64>(0)

    package init() {}

    package func allows(at now: MonotonicInstant) -> Bool {
        now.nanoseconds >= restsUntil.load(ordering: .relaxed)
    }

    package func miss(from start: MonotonicInstant, to end: MonotonicInstant) {
        let nanoseconds = end.nanoseconds - start.nanoseconds
        let rest = end.nanoseconds + nanoseconds * Self.restPerMiss
        restsUntil.store(rest, ordering: .relaxed)
    }

    /// Allows nothing until ``fileWasOpened()``, because its file system cannot tell what is in
    /// memory.
    package func giveUpFile() { restsUntil.store(.max, ordering: .relaxed) }

    /// Begins anew, because the file may be on another file system now.
    package func fileWasOpened() { restsUntil.store(0, ordering: .relaxed) }
}
