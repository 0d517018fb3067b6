import EventLoop
import KeyStore

/// Has the keys of the registry counted from time to time for metrics, on a thread of its own.
/// Belongs to the control thread.
final class KeyCountRefresher {
    /// Counts the keys; blocks. Nil if the registry does not answer.
    typealias Count = @Sendable () -> [KeyCount]?

    private let loop: EventLoop
    private let hub: Hub
    private let count: Count
    private var call: BlockingCall<[KeyCount]?>?
    private var timer: Timer?
    private var startedAt = MonotonicInstant(nanoseconds: 0)

    init(loop: EventLoop, hub: Hub, count: @escaping Count) {
        self.loop = loop
        self.hub = hub
        self.count = count
        timer = Timer(loop: loop) { [unowned self] in begin() }
        begin()
    }

    private func begin() {
        startedAt = MonotonicInstant.now()
        // Without a thread there is no count this time.
        call = try? BlockingCall(name: "key-counts", loop: loop, count) { [unowned self] in end($0)
        }
        if call == nil { timer?.schedule(after: Self.intervalMin) }
    }

    private func end(_ counts: [KeyCount]?) {
        call = nil
        // If the registry does not answer, the last count is still the best that is known.
        if let counts {
            let tally = KeyTally(counts: counts, countedAt: WallClock.now().seconds)
            hub.keyTally.withLock { $0 = tally }
        }
        let cost = MonotonicInstant.now().nanoseconds(since: startedAt)
        timer?.schedule(after: max(Self.intervalMin, .nanoseconds(cost) * Self.restPerWork))
    }

    private static let intervalMin = Duration.seconds(30)
    /// The rest after a count, per its own duration: a count reads every record, so at most a
    /// thousandth of the time goes to counting.
    private static let restPerWork = 1000
}
