public import EventLoop
import Synchronization

/// How long the write-ahead log of a registry in a file is, and who keeps it from being emptied.
///
/// The registry's writer notes it, and any thread reads it.
public final class RegistryLog: Sendable {
    /// The size from which a log is taken notice of. A log that is not held has 4 MiB, and what one
    /// import writes. Emptying it takes less than a second up to here, and this much stays on the
    /// disk in any case.
    public static let noticedByteCount = 64 << 20
    /// A backup or an import rightly holds the log for a moment longer.
    public static let patience = Duration.seconds(2)

    /// Beyond this length no counters are written to it: those of requests are refused, and others
    /// wait where they are.
    public let byteCountMax: Int
    private let length = Atomic(0)
    /// In monotonic nanoseconds; 0 while the log is not beyond ``noticedByteCount``.
    private let grownAt = Atomic<UInt64>(0)
    private let obstacle = Locked<String?>(nil)

    public init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    /// Notes the length. `obstacle`: why the log cannot be emptied, in words for the operator; nil
    /// if that is not known.
    public func note(byteCount: Int, obstacle: String?, at now: MonotonicInstant) {
        length.store(byteCount, ordering: .relaxed)
        self.obstacle.withLock { $0 = obstacle }
        if byteCount <= Self.noticedByteCount {
            grownAt.store(0, ordering: .relaxed)
        } else if grownAt.load(ordering: .relaxed) == 0 {
            grownAt.store(max(1, now.nanoseconds), ordering: .relaxed)
        }
    }

    /// The length of what is in the log. Its file may be longer, because SQLite uses it again.
    public var byteCount: Int { length.load(ordering: .relaxed) }

    /// True if no counters are written.
    public var isFull: Bool { byteCount >= byteCountMax }

    /// Why counters are refused, for a log that ``isFull``.
    public var refusal: StoreError {
        StoreError(
            "registry: its log (-wal) is as long as limits.registry_log allows: \(reason)",
            kind: .logFull)
    }

    /// Why the log is not emptied, in words for the operator.
    public var reason: String {
        obstacle.withLock { $0 } ?? "a process that cannot be seen from here reads the registry"
    }

    /// Whether the log has been beyond ``noticedByteCount`` for longer than ``patience``.
    public func isGrown(at now: MonotonicInstant) -> Bool {
        let start = grownAt.load(ordering: .relaxed)
        guard start > 0 else { return false }
        return now - MonotonicInstant(nanoseconds: start) > Self.patience
    }
}
