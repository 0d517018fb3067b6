import Attestation
import Bytes
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

/// What a history notes of counters in Redis.
final class RedisHistoryNotes {
    var lossCount = 0
    /// The last counter of requests that only ask whether anything is accepted.
    var probe: UInt32 = 0
}

/// Counters in Redis servers that outlive gateways, and may lose what they have while gateways go
/// on.
protocol RedisHistoricStore: HistoricStore {
    var bench: RedisCounterBench { get }
    var notes: RedisHistoryNotes { get }
    /// Keys enough that each master has one.
    static var probeCount: UInt64 { get }
}

extension RedisHistoricStore {
    static var isInProcess: Bool { false }
    static var probeCount: UInt64 { 1 }

    func moment(of keyID: KeyID, challenge: Bytes16, now: Int64) -> StoreMoment? {
        bench.worker.moment(keyID: keyID, challenge: challenge)
    }

    func advance(_ request: CounterAdvance, now: Int64) throws -> CounterVerdict {
        try bench.verdict(request) ?? .unknown
    }

    /// What the servers have said meanwhile.
    func sweep(now: Int64) { bench.pause(.milliseconds(1)) }

    func takeLoss() -> Bool {
        defer { notes.lossCount = 0 }
        return notes.lossCount > 0
    }

    func holds(_ keyID: KeyID) -> Bool { false }

    func restart(isClean: Bool, wallStep: Int64, now: Int64) {}

    func heedLosses() { bench.worker.onLoss = { [notes] in notes.lossCount += 1 } }

    /// Returns when every master accepts again.
    func serve() throws {
        let limit = ContinuousClock.now + RedisCounterBench.patience
        for key in 1...Self.probeCount {
            while true {
                notes.probe += 1
                let probe = bench.request(
                    key: key, counter: notes.probe, challenge: UInt64(notes.probe))
                if try bench.verdict(probe) == .accepted { break }
                guard ContinuousClock.now < limit else { throw RedisCounterBench.TookTooLong() }
                bench.pause()
            }
        }
    }
}

/// One server, whose clock is stepped.
private final class LoneHistoricStore: RedisHistoricStore {
    static let faultCount = 7
    static let calmStepCount = 0

    let bench: RedisCounterBench
    let notes = RedisHistoryNotes()
    private let server: RedisServer
    private let clock: SteppedClock
    private let directory: ScratchDirectory
    private var clockStep = 0
    private var dump: [UInt8]

    init() throws {
        directory = try ScratchDirectory()
        clock = try SteppedClock("redis", in: directory)
        server = try RedisServer(launcher: clock.launcher)
        bench = try RedisCounterBench(server)
        dump = try server.dump()
        heedLosses()
    }

    func disturb(_ fault: Int, isAlone: Bool) throws {
        switch fault {
        case 0: try server.command("FLUSHALL")
        case 1: dump = try server.dump()
        case 2: try server.restart(from: dump)
        case 3: try server.restart()
        case 4: try server.command("SCRIPT", "FLUSH")
        case 5: try step(3600)
        default: try step(-3600)
        }
        if isAlone { try serve() }
    }

    private func step(_ seconds: Int) throws {
        clockStep += seconds
        try clock.set(clockStep)
    }
}

/// A master with two replicas, and three Sentinels.
private final class SentinelHistoricStore: RedisHistoricStore {
    static let faultCount = 3
    static let calmStepCount = 100

    let bench: RedisCounterBench
    let notes = RedisHistoryNotes()
    private let set: RedisSentinelSet
    /// That no replica has.
    private var lag: [CounterVerdict] = []
    private var lagging: RedisServer?

    init() throws {
        set = try RedisSentinelSet()
        bench = try RedisCounterBench(RedisCounterBench.configuration(set))
        try bench.connect()
        heedLosses()
    }

    func advance(_ request: CounterAdvance, now: Int64) throws -> CounterVerdict {
        let verdict = try bench.verdict(request) ?? .unknown
        guard let old = lagging else { return verdict }
        lag.append(verdict)
        guard lag.count(where: { $0 == .accepted }) >= 3 else { return verdict }
        lagging = nil
        try old.kill()
        for replica in set.servers where replica !== old { replica.resume() }
        try replace(old)
        return verdict
    }

    private func replace(_ old: RedisServer) throws {
        let master = try set.waitForMaster(other: old)
        // It comes back empty.
        try old.start()
        try set.rejoin(master)
    }

    func disturb(_ fault: Int, isAlone: Bool) throws {
        guard lagging == nil, let master = try set.master() else { return }
        switch fault {
        case 0: try set.rejoin(try set.failOver())
        case 1:
            lag = []
            lagging = master
            return try master.leaveBehind(set.servers.filter { $0 !== master })
        default:
            try master.kill()
            try replace(master)
        }
        if isAlone { try serve() }
    }
}

/// Three masters, a replica for each.
private final class ClusterHistoricStore: RedisHistoricStore {
    static let faultCount = 5
    static let calmStepCount = 60
    static let probeCount: UInt64 = 12

    let bench: RedisCounterBench
    let notes = RedisHistoryNotes()
    private let cluster: RedisCluster
    /// Of the last key that was used.
    private var slot = RedisCounterBench.key(1).slot
    private var lagging: (master: RedisServer, heir: RedisServer, acceptedCount: Int)?

    init() throws {
        cluster = try RedisCluster()
        bench = try RedisCounterBench(RedisCounterBench.configuration(cluster))
        try bench.run { bench.worker.isWhole }
        heedLosses()
    }

    func advance(_ request: CounterAdvance, now: Int64) throws -> CounterVerdict {
        let verdict = try bench.verdict(request) ?? .unknown
        slot = request.keyID.slot
        guard let (master, heir, count) = lagging, verdict == .accepted else { return verdict }
        lagging?.acceptedCount += 1
        guard count >= 8 else { return verdict }
        lagging = nil
        try master.kill()
        heir.resume()
        try replace(master, by: heir)
        return verdict
    }

    /// The heir asks nobody.
    private func replace(_ old: RedisServer, by heir: RedisServer) throws {
        try heir.command("CLUSTER", "FAILOVER", "TAKEOVER")
        try old.start()
        try cluster.waitUntilFollowed()
    }

    func disturb(_ fault: Int, isAlone: Bool) throws {
        guard lagging == nil else { return }
        let master = try cluster.keeper(ofSlot: slot.number)
        switch fault {
        case 0: try master.command("FLUSHALL")
        case 1: try cluster.move(slot: slot.number, from: master, to: other(than: master))
        case 2:
            // There and back, without what was there.
            let other = try other(than: master)
            try cluster.move(slot: slot.number, from: master, to: other)
            try other.command("FLUSHALL")
            try cluster.move(slot: slot.number, from: other, to: master)
        case 3:
            let heir = try cluster.replica(of: master)
            try master.kill()
            try replace(master, by: heir)
        default:
            let heir = try cluster.replica(of: master)
            lagging = (master, heir, 0)
            return try master.leaveBehind([heir])
        }
        if isAlone { try serve() }
    }

    private func other(than master: RedisServer) throws -> RedisServer {
        let third = RedisCluster.slotCount / 3
        let keepers = try [third, 2 * third].map {
            try cluster.keeper(ofSlot: (slot.number + $0) % RedisCluster.slotCount)
        }
        return try #require(keepers.first { $0 !== master })
    }
}

@Suite(
    "Counters in Redis through years of gateways",
    .enabled(if: RedisServer.isInstalled && SteppedClock.isPossible),
    .timeLimit(HistoryLength.limit))
struct RedisHistoryTests {}

extension RedisHistoryTests {
    @Test(
        "with Redis: rise strictly, and no challenge twice, whatever happens to it and its clock",
        arguments: HistoryLength.seeds(3))
    func lone(_ seed: UInt64) throws { try run(seed, LoneHistoricStore(), stepCount: 1500) }

    @Test(
        "with Sentinels: rise strictly, and no challenge twice, whoever is promoted",
        arguments: HistoryLength.seeds(1))
    func sentinels(_ seed: UInt64) throws { try run(seed, SentinelHistoricStore(), stepCount: 500) }

    @Test(
        "in a cluster: rise strictly, and no challenge twice, whoever keeps what",
        arguments: HistoryLength.seeds(2))
    func cluster(_ seed: UInt64) throws { try run(seed, ClusterHistoricStore(), stepCount: 600) }

    private func run(_ seed: UInt64, _ store: some HistoricStore, stepCount: Int) throws {
        var history = try CounterHistory(
            seed: seed, store: store, directory: TemporaryDirectory())
        try history.run(stepCount: stepCount)
        let last = history.trace.suffix(40).joined(separator: "; ")
        #expect(history.violations.isEmpty, "seed \(seed): \(history.violations): \(last)")
        // How many are served between two faults is up to the machine.
        #expect(history.acceptedCount > 10)
    }
}
