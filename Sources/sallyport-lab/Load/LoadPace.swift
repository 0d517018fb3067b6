import EventLoop

/// An open loop: requests that become due by the clock, whatever became of those before.
///
/// A server that falls behind is not spared the requests of that time, and no latency hides in a
/// queue here, because each one counts from when its request was due.
struct LoadPace {
    private let startedAt: MonotonicInstant
    private let rate: UInt64
    private var count: UInt64 = 0

    /// `rate`: requests a second, at least one.
    init(rate: Int, from start: MonotonicInstant) {
        self.rate = UInt64(max(1, rate))
        startedAt = start
    }

    /// When the next request is due.
    var next: MonotonicInstant {
        startedAt.advanced(byNanoseconds: count &* 1_000_000_000 / rate)
    }

    /// The next request is sent.
    mutating func take() { count += 1 }

    /// Requests that are due and not sent.
    func lateCount(at now: MonotonicInstant) -> Int {
        let due = now.nanoseconds(since: startedAt) / 1000 &* rate / 1_000_000
        return Int(due > count ? due - count : 0)
    }
}
