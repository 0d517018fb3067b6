public import Attestation
public import Bytes
public import EventLoop

/// One worker's access to the counters of this process, which are answered at once by the clock of
/// its loop.
public final class EmbeddedCounterStore: CounterStore {
    private let counters: EmbeddedCounters
    private let loop: EventLoop

    public init(_ counters: EmbeddedCounters, loop: EventLoop) {
        self.counters = counters
        self.loop = loop
    }

    private var now: Int64 { loop.now.milliseconds }

    public var isShared: Bool { false }
    public var isAvailable: Bool { true }
    public var failureText: String { "" }

    /// Reports that the store is available. It forgets only together with its process, so nothing
    /// else can happen to it.
    public func report(to observer: CounterStoreObserver) { observer.availabilityChanged(true) }

    public func moment(keyID: KeyID?, challenge: Bytes16) -> StoreMoment? {
        counters.moment(nowMilliseconds: now)
    }

    public func advance(_ request: CounterAdvance, reply: @escaping (CounterVerdict) -> Void) {
        reply(counters.advance(request, nowMilliseconds: now))
    }

    public func advanceAtOnce(_ request: CounterAdvance) -> CounterVerdict? {
        counters.advance(request, nowMilliseconds: now)
    }

    public func tally(_ tally: SharedTally, reply: @escaping (SharedCounts?) -> Void) {}

    public func spendToken(
        _ id: Bytes16, forMilliseconds life: Int, reply: @escaping (CounterVerdict) -> Void
    ) {
        reply(counters.spendToken(id, forMilliseconds: life, nowMilliseconds: now))
    }

    public func isTokenSpent(
        _ id: Bytes16, forMilliseconds life: Int, reply: @escaping (Bool) -> Void
    ) {
        reply(counters.isTokenSpent(id, forMilliseconds: life, nowMilliseconds: now))
    }

    public func charge(_ charge: QuotaCharge, reply: @escaping (QuotaVerdict) -> Void) {
        reply(
            counters.quotas.charge(
                charge, nowMilliseconds: now, wallMilliseconds: loop.wallMilliseconds))
    }

    public func sweep() {
        counters.sweep(nowMilliseconds: now)
        counters.quotas.sweep(nowMilliseconds: now, wallMilliseconds: loop.wallMilliseconds)
    }

    /// Does nothing: the counters belong to the process, which keeps them for its next start.
    public func close() {}
}
