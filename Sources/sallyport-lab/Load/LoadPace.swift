import EventLoop

/// An open loop: requests become due by the clock, whatever happened to earlier ones.
///
/// A server that falls behind gets the requests of that time all the same, and no latency hides in
/// a queue here, because each counts from the time at which its request was due.
struct LoadPace {
    private let startedAt: MonotonicInstant
    private let rate: UInt64
    private var count: UInt64 = 0

    /// `rate`: requests a second, at least one.
    init(rate: Int, from start: MonotonicInstant) {
        self.rate = UInt64(max(1, rate))
        startedAt = start
    }

    /// The time at which the next request is due.
    var next: MonotonicInstant {
        startedAt.advanced(byNanoseconds: count &* 1_000_000_000 / rate)
    }

    /// Counts the next request as sent.
    mutating func take() { count += 1 }

    /// The number of requests that are due but not sent.
    func lateCount(at now: MonotonicInstant) -> Int {
        let due = now.nanoseconds(since: startedAt) / 1000 &* rate / 1_000_000
        return Int(due > count ? due - count : 0)
    }
}
