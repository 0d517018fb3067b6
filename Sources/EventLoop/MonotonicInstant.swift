import CLibevent
import CLinux

/// A moment on the clock that never steps (CLOCK_MONOTONIC): for durations and deadlines.
public struct MonotonicInstant: Comparable, Hashable, Sendable {
    public let nanoseconds: UInt64

    /// Later than every other instant.
    public static let distantFuture = MonotonicInstant(nanoseconds: .max)

    @inlinable
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// The whole milliseconds, the unit of counter stores and floors.
    @inlinable
    public var milliseconds: Int64 { Int64(nanoseconds / 1_000_000) }

    /// Reads the clock. On a loop, ``EventLoop/now`` is cheaper.
    public static func now() -> MonotonicInstant {
        var time = timespec()
        let status = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        precondition(status == 0, "no monotonic clock")
        return MonotonicInstant(
            nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
    }

    /// Saturates at ``distantFuture``.
    @inlinable
    public func advanced(byNanoseconds count: UInt64) -> MonotonicInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(count)
        return MonotonicInstant(nanoseconds: overflow ? .max : sum)
    }

    /// The nanoseconds since `earlier`; zero if that is not earlier.
    @inlinable
    public func nanoseconds(since earlier: MonotonicInstant) -> UInt64 {
        nanoseconds > earlier.nanoseconds ? nanoseconds - earlier.nanoseconds : 0
    }

    @inlinable
    public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// A negative duration counts as zero.
    public static func + (instant: MonotonicInstant, duration: Duration) -> MonotonicInstant {
        instant.advanced(byNanoseconds: duration.wholeNanoseconds)
    }

    /// The difference; zero if `right` is later.
    public static func - (left: MonotonicInstant, right: MonotonicInstant) -> Duration {
        .nanoseconds(Int64(clamping: left.nanoseconds(since: right)))
    }
}

extension Duration {
    /// The nanoseconds, rounded up; zero for a negative duration, `UInt64.max` for one too long.
    ///
    /// It takes a division of 128 bits, so values for the request path are computed once.
    public var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let rest = UInt64(attoseconds)
        let part = rest / 1_000_000_000 + (rest.isMultiple(of: 1_000_000_000) ? 0 : 1)
        let (scaled, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = scaled.addingReportingOverflow(part)
        return overflow || sumOverflow ? .max : sum
    }
}
