import EventLoop
import KeyStore

/// Has the keys of the registry counted from time to time, on a thread of its own, for metrics. The
/// control thread's.
final class KeyCountRefresher {
    /// Blocks. Nil where nothing is known.
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
        // Without a thread there is none this time.
        call = try? BlockingCall(name: "key-counts", loop: loop, count) { [unowned self] in end($0)
        }
        if call == nil { timer?.schedule(after: Self.intervalMin) }
    }

    private func end(_ counts: [KeyCount]?) {
        call = nil
        // While the registry does not answer, what it held is still the best that is known.
        if let counts {
            let tally = KeyTally(counts: counts, countedAt: WallClock.now().seconds)
            hub.keyTally.withLock { $0 = tally }
        }
        let cost = MonotonicInstant.now().nanoseconds(since: startedAt)
        timer?.schedule(after: max(Self.intervalMin, .nanoseconds(cost) * Self.restPerWork))
    }

    private static let intervalMin = Duration.seconds(30)
    /// A count reads every record: at most a thousandth of the time goes to that.
    private static let restPerWork = 1000
}
