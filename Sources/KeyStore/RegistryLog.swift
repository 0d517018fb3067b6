public import EventLoop
import Synchronization

/// The length of the write-ahead log of a registry in a file, and the process that keeps it from
/// being emptied.
///
/// The registry's writer notes it, and any thread reads it.
public final class RegistryLog: Sendable {
    /// The size from which a log is taken notice of. A log that is not held has 4 MiB, and what one
    /// import writes. Emptying it takes less than a second up to here, and this much stays on the
    /// disk in any case.
    public static let noticedByteCount = 64 << 20
    /// A backup or an import rightly holds the log for a moment longer.
    public static let patience = Duration.seconds(2)

    /// The length beyond which no counters are written to the log: those of requests are refused,
    /// and others wait where they are.
    public let byteCountMax: Int
    private let length = Atomic(0)
    /// The time since which the log is beyond ``noticedByteCount``, in monotonic nanoseconds; 0 if
    /// it is not.
    private let grownAt = Atomic<UInt64>(0)
    private let obstacle = Locked<String?>(nil)

    public init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    /// Notes the length. `obstacle`: the reason why the log cannot be emptied, in words for the
    /// operator; nil if that is not known.
    public func note(byteCount: Int, obstacle: String?, at now: MonotonicInstant) {
        // First, so that a reader who finds the log full finds the reason, too.
        self.obstacle.withLock { $0 = obstacle }
        length.store(byteCount, ordering: .releasing)
        if byteCount <= Self.noticedByteCount {
            grownAt.store(0, ordering: .relaxed)
        } else if grownAt.load(ordering: .relaxed) == 0 {
            grownAt.store(max(1, now.nanoseconds), ordering: .relaxed)
        }
    }

    /// The length of the log's content. Its file may be longer, because SQLite uses it again.
    public var byteCount: Int { length.load(ordering: .acquiring) }

    /// True if no counters are written.
    public var isFull: Bool { byteCount >= byteCountMax }

    /// The reason why counters are refused while ``isFull``.
    public var refusal: StoreError {
        StoreError(
            "registry: its log (-wal) is as long as limits.registry_log allows: \(reason)",
            kind: .logFull)
    }

    /// The reason why the log is not emptied, in words for the operator.
    public var reason: String {
        obstacle.withLock { $0 } ?? "a process that cannot be seen from here reads the registry"
    }

    /// True if the log has been beyond ``noticedByteCount`` for longer than ``patience``.
    public func isGrown(at now: MonotonicInstant) -> Bool {
        let start = grownAt.load(ordering: .relaxed)
        guard start > 0 else { return false }
        return now - MonotonicInstant(nanoseconds: start) > Self.patience
    }
}
