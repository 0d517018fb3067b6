public import EventLoop
import Synchronization

/// The age of a gateway's knowledge of changes that others make in a registry, above all of
/// revocations.
///
/// The registry's thread writes it, and any thread reads it.
public final class ChangeHearing: Sendable {
    private let heardAt: Atomic<UInt64>
    private let expired = Atomic<Bool>(false)
    private let reason = Locked<String?>(nil)

    /// Begins with everything known at `start`, because nothing is cached before.
    public init(since start: MonotonicInstant = .now()) {
        heardAt = Atomic(start.nanoseconds)
    }

    /// Notes that every change made before `instant` is known.
    public func heard(asOf instant: MonotonicInstant) {
        heardAt.store(
            max(heardAt.load(ordering: .relaxed), instant.nanoseconds), ordering: .relaxed)
        expired.store(false, ordering: .releasing)
        reason.withLock { $0 = nil }
    }

    /// Notes the reason why changes could not be read, in words for the operator.
    public func failed(_ words: String) { reason.withLock { $0 = words } }

    /// Notes that records are not to be cached until changes are heard of again. What is cached by
    /// then has to be forgotten after this call.
    public func expire() { expired.store(true, ordering: .releasing) }

    /// True if nothing was heard of changes for so long that records are not to be cached.
    public var isExpired: Bool { expired.load(ordering: .acquiring) }

    /// The age of the latest moment before which every change is known.
    public func age(at now: MonotonicInstant) -> Duration {
        now - MonotonicInstant(nanoseconds: heardAt.load(ordering: .relaxed))
    }

    /// The reason why changes could not be read the last time. Nil if they could, or if the
    /// registry has not answered yet.
    public var failure: String? { reason.withLock { $0 } }
}
