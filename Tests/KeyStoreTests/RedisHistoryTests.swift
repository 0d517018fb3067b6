import AppAttest
import Bytes
import GatewayTesting
import KeyStore
import RedisKeyStore
import Testing

/// The counters in a Redis that outlives gateways, and may lose what it has while they go on.
private final class RedisHistoricStore: HistoricStore {
    /// Flushed, copied, set back to the copy, its scripts forgotten.
    static let faultCount = 4
    static let isInProcess = false

    private let server: RedisServer
    private let bench: RedisCounterBench
    private var dump: [UInt8]
    private var lossCount = 0

    init() throws {
        server = try RedisServer()
        bench = try RedisCounterBench(server)
        dump = try server.dump()
        bench.worker.onLoss = { [unowned self] in lossCount += 1 }
    }

    func moment(of keyID: KeyID, challenge: Bytes16, now: Int64) -> StoreMoment? {
        bench.worker.moment(keyID: keyID, challenge: challenge)
    }

    func advance(_ request: CounterAdvance, now: Int64) throws -> CounterVerdict {
        try bench.verdict(request) ?? .unknown
    }

    func sweep(now: Int64) {}

    func holds(_ keyID: KeyID) -> Bool { true }

    func restart(isClean: Bool, wallStep: Int64, now: Int64) {}

    func disturb(_ fault: Int, now: Int64) throws -> Bool {
        let before = bench.incarnation
        lossCount = 0
        switch fault {
        case 0:
            try server.command("FLUSHALL")
            // The next call finds out.
            _ = try bench.verdict(bench.request(key: 99, counter: .max, challenge: 1))
            try bench.run { bench.incarnation != before }
        case 1: dump = try server.dump()
        case 2:
            try server.restart(from: dump)
            try bench.run { bench.worker.isConnected && bench.incarnation != before }
        default: try server.command("SCRIPT", "FLUSH")
        }
        return lossCount > 0
    }
}

@Suite(
    "Counters in Redis through years of gateways", .enabled(if: RedisServer.isInstalled),
    .timeLimit(.minutes(10)))
struct RedisHistoryTests {
    @Test("with Redis: rise strictly, and no challenge twice", arguments: 0..<3)
    func histories(_ seed: UInt64) throws {
        var history = try CounterHistory(
            seed: seed, store: RedisHistoricStore(), directory: TemporaryDirectory())
        try history.run(stepCount: 1500)
        let last = history.trace.suffix(40).joined(separator: "; ")
        #expect(history.violations.isEmpty, "seed \(seed): \(history.violations): \(last)")
        #expect(history.acceptedCount > 50)
    }
}
