import Attestation
import Bytes
import KeyStore
import Testing

/// The counters inside a gateway: whatever happens to them happens to the whole process.
private struct EmbeddedHistoricStore: HistoricStore {
    static let faultCount = 0
    static let calmStepCount = 0
    static let isInProcess = true

    private var counters: EmbeddedCounters
    private var wallBase: Int64 = 1_700_000_000_000

    init() {
        counters = EmbeddedCounters(
            clock: EmbeddedClock(base: 0, boot: EmbeddedBench.boot, nowMilliseconds: 0))
    }

    func moment(of keyID: KeyID, challenge: Bytes16, now: Int64) -> StoreMoment? {
        counters.moment(nowMilliseconds: now)
    }

    func advance(_ request: CounterAdvance, now: Int64) -> CounterVerdict {
        counters.advance(request, nowMilliseconds: now)
    }

    func sweep(now: Int64) { counters.sweep(nowMilliseconds: now) }

    func disturb(_ fault: Int, isAlone: Bool) {}

    /// It forgets together with its process alone.
    func takeLoss() -> Bool { false }

    func holds(_ keyID: KeyID) -> Bool { counters.holds(keyID) }

    mutating func restart(isClean: Bool, wallStep: Int64, now: Int64) {
        wallBase += wallStep
        let snapshot = isClean ? counters.snapshot(nowMilliseconds: now) : nil
        counters = EmbeddedCounters(
            resuming: snapshot,
            clock: EmbeddedClock(base: wallBase, boot: EmbeddedBench.boot, nowMilliseconds: now))
    }
}

@Suite("Counters through years of gateways", .timeLimit(HistoryLength.limit))
struct CounterHistoryTests {}

extension CounterHistoryTests {
    @Test(
        "in memory: rise strictly, and no challenge twice, whatever happens",
        arguments: HistoryLength.seeds(16))
    func embedded(_ seed: UInt64) throws {
        var history = try CounterHistory(
            seed: seed, store: EmbeddedHistoricStore(), directory: TemporaryDirectory())
        try history.run(stepCount: 3000)
        let last = history.trace.suffix(40).joined(separator: "; ")
        #expect(history.violations.isEmpty, "seed \(seed): \(history.violations): \(last)")
        #expect(history.acceptedCount > 100)
    }
}
