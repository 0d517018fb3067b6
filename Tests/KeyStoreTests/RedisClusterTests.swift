import Attestation
import Bytes
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

@Suite(
    "Counters in a cluster", .enabled(if: RedisServer.isInstalled), .serialized,
    .timeLimit(.minutes(30)))
struct RedisClusterTests {}

extension RedisClusterTests {
    /// Workers that reach every master.
    private func bench(
        _ cluster: RedisCluster, workerCount: Int = 2,
        checkInterval: Duration = .milliseconds(100)
    ) throws -> RedisCounterBench {
        var configuration = RedisCounterBench.configuration(cluster)
        configuration.checkInterval = checkInterval
        let bench = try RedisCounterBench(configuration, workerCount: workerCount)
        try bench.run { bench.workers.allSatisfy(\.isWhole) }
        return bench
    }

    /// Sends new requests of a key until one is accepted; a moment without a master must pass.
    private func resume(
        _ bench: RedisCounterBench, key: UInt64, from counter: UInt32, isBound: Bool = true
    ) throws -> CounterAdvance {
        var next = counter
        let limit = ContinuousClock.now + RedisCounterBench.patience
        while true {
            guard ContinuousClock.now < limit else { throw RedisCounterBench.TookTooLong() }
            next += 1
            let request = bench.request(
                key: key, counter: next, challenge: UInt64(next), isBound: isBound)
            if try bench.verdict(request) == .accepted { return request }
            bench.pause()
        }
    }

    @Test("serve keys of all slots, with challenges bound to them or not, each once")
    func allSlots() throws {
        let cluster = try RedisCluster()
        let bench = try bench(cluster)
        for isBound in [true, false] {
            let requests = (0..<200).map { key in
                bench.request(
                    key: key, counter: isBound ? 1 : 2, challenge: isBound ? 1 : 1000 + key,
                    isBound: isBound)
            }
            let verdicts = try bench.verdicts(requests)
            #expect(verdicts.allSatisfy { $0 == .accepted }, "\(verdicts.map { "\($0)" }.sorted())")
            #expect(try bench.verdicts(requests).allSatisfy { $0 == .replayed })
        }
        // Each challenge once for a key, each counter once, whoever keeps the challenge.
        let spent = bench.request(key: 1, counter: 3, challenge: 1001, isBound: false)
        #expect(try bench.verdict(spent) == .challengeSpent)
        let used = bench.request(key: 1, counter: 2, challenge: 5001, isBound: false)
        #expect(try bench.verdict(used) == .counterUsed)
        let masters = Set(
            (0..<64).compactMap {
                bench.worker.moment(
                    keyID: RedisCounterBench.key($0), challenge: Bytes16(word0: 0, word1: 0)
                )?.incarnation
            })
        #expect(masters.count == 3)
    }

    @Test("accept one of many racing requests, bound or not")
    func race() throws {
        let cluster = try RedisCluster(replicasPerMaster: 0)
        let bench = try bench(cluster, workerCount: 4)
        for isBound in [true, false] {
            for round in 1...20 as ClosedRange<UInt32> {
                let request = bench.request(
                    counter: round + (isBound ? 0 : 100), challenge: UInt64(round),
                    isBound: isBound)
                let verdicts = try bench.verdicts([CounterAdvance](repeating: request, count: 16))
                #expect(verdicts.filter { $0 == .accepted }.count == 1, "\(verdicts)")
                #expect(verdicts.filter { $0 == .replayed }.count == 15)
            }
        }
    }

    @Test("limit the rate of a key, and let the same request come again")
    func rates() throws {
        let cluster = try RedisCluster(replicasPerMaster: 0)
        let bench = try bench(cluster)
        let hour = 3_600_000_000
        let rate = CounterRate(identity: 1, intervalMicroseconds: hour, depthMicroseconds: hour)
        for (key, isBound) in [(1, true), (2, false)] as [(UInt64, Bool)] {
            func request(_ counter: UInt32, _ rates: [CounterRate]) -> CounterAdvance {
                bench.request(
                    key: key, counter: counter, challenge: key * 100 + UInt64(counter),
                    rates: rates, isBound: isBound)
            }
            #expect(try bench.verdict(request(1, [rate])) == .accepted)
            guard case .rateLimited(0, _) = try bench.verdict(request(2, [rate])) else {
                Issue.record("not limited")
                continue
            }
            #expect(try bench.verdict(request(2, [])) == .accepted)
            #expect(try bench.verdict(request(2, [])) == .replayed)
        }
    }

    @Test("revoke keys wherever they lie")
    func revocation() throws {
        let cluster = try RedisCluster(replicasPerMaster: 0)
        let bench = try bench(cluster)
        let keys = (0..<300).map { RedisCounterBench.key($0) }
        try RedisRevocations.mark(keys, configuration: RedisCounterBench.configuration(cluster))
        let requests = (0..<300).map { key in
            bench.request(key: key, counter: 1, challenge: 1, isBound: key % 2 == 0)
        }
        #expect(try bench.verdicts(requests).allSatisfy { $0 == .revoked })
    }

    @Test("follow a slot that moves, also while it is half moved, and accept nothing twice")
    func migration() throws {
        let cluster = try RedisCluster(replicasPerMaster: 0)
        let bench = try bench(cluster)
        let slot = RedisCounterBench.key(7).slot
        let source = try #require(try cluster.master(ofSlot: slot.number))
        let target = try #require(cluster.servers.first { $0 !== source })
        let first = bench.request(key: 7, counter: 1, challenge: 1)
        #expect(try bench.verdict(first) == .accepted)
        try cluster.beginMove(ofSlot: slot.number, from: source, to: target)
        try cluster.moveKeys(ofSlot: slot.number, from: source, to: target, count: 1)
        // Half here, half there: nothing is accepted twice, and nothing new for a moment.
        #expect(try bench.verdict(first) != .accepted)
        let halfway = bench.request(key: 7, counter: 2, challenge: 2)
        let verdict = try bench.verdict(halfway)
        #expect(verdict == .unavailable || verdict == .incarnationChanged)
        try cluster.moveKeys(ofSlot: slot.number, from: source, to: target)
        try cluster.endMove(ofSlot: slot.number, to: target)
        let second = try resume(bench, key: 7, from: 10)
        // The counter came along with its slot.
        let old = bench.request(key: 7, counter: 1, challenge: 99)
        #expect(try bench.verdict(old) == .counterUsed)
        for request in [first, second] { #expect(try bench.verdict(request) != .accepted) }
        // And back again: what its first master accepted once stays refused there.
        try cluster.move(slot: slot.number, from: target, to: source)
        _ = try resume(bench, key: 7, from: 1000)
        for request in [first, second] { #expect(try bench.verdict(request) != .accepted) }
    }

    @Test(
        "refuse what a master accepted before its slot went away and lost its data elsewhere",
        arguments: [.milliseconds(5), .seconds(1000)] as [Duration])
    func lossElsewhere(checkInterval: Duration) throws {
        let cluster = try RedisCluster(replicasPerMaster: 0)
        // No worker runs while the slot goes and comes: it notices that it has stood still, or that
        // it has not looked for a moment.
        let bench = try bench(cluster, checkInterval: checkInterval)
        let slot = RedisCounterBench.key(7).slot
        let source = try #require(try cluster.master(ofSlot: slot.number))
        let target = try #require(cluster.servers.first { $0 !== source })
        let accepted = [true, false].map { isBound in
            bench.request(
                key: 7, counter: isBound ? 1 : 2, challenge: isBound ? 1 : 2, isBound: isBound)
        }
        for request in accepted { #expect(try bench.verdict(request) == .accepted) }
        try cluster.move(slot: slot.number, from: source, to: target)
        try target.command("FLUSHALL")
        try cluster.move(slot: slot.number, from: target, to: source)
        for _ in 0..<20 {
            for request in accepted { #expect(try bench.verdict(request) != .accepted) }
            bench.pause()
        }
        _ = try resume(bench, key: 7, from: 100)
        for request in accepted { #expect(try bench.verdict(request) != .accepted) }
    }

    @Test("serve what a master still has when the slot of its record has moved away")
    func recordMoves() throws {
        let cluster = try RedisCluster(replicasPerMaster: 0)
        // Nobody asks who keeps what: workers learn it from an answer.
        let bench = try bench(cluster, checkInterval: .seconds(1000))
        let source = cluster.servers[0]
        let target = cluster.servers[1]
        let record = try source.command("KEYS", "*:incarnation")
        let moving = RedisSlot(ofKey: Array(record.utf8))
        // It would be the place of the other one's record too.
        try #require(moving.rank == 0, "\(record)")
        func key(_ isWanted: (RedisSlot) -> Bool) throws -> UInt64 {
            try #require(
                (0..<1_000_000 as Range<UInt64>).first { isWanted(RedisCounterBench.key($0).slot) })
        }
        let movingKey = try key { $0 == moving }
        let stayingKey = try key { (1..<5000).contains($0.number) }
        let targetKey = try key { (6000..<10000).contains($0.number) }
        let keys = [movingKey, stayingKey, targetKey]
        let accepted = keys.map { bench.request(key: $0, counter: 1, challenge: 1) }
        #expect(try bench.verdicts(accepted).allSatisfy { $0 == .accepted })
        try cluster.move(slot: moving.number, from: source, to: target)
        // Each worker hears of it.
        _ = try bench.verdicts([accepted[0], accepted[0]])
        for key in keys {
            let next = try resume(bench, key: key, from: 1000)
            // Both see one incarnation there.
            #expect(try bench.verdicts([next, next]) == [.replayed, .replayed])
        }
        #expect(try bench.verdicts(accepted).allSatisfy { $0 != .accepted })
    }

    @Test("go on after a master's death, and accept nothing twice")
    func failover() throws {
        let cluster = try RedisCluster(nodeTimeout: 2000)
        let bench = try bench(cluster)
        let keys: [UInt64] = [1, 2, 3, 4, 5, 6, 7, 8]
        let accepted = try keys.flatMap { key in
            try [true, false].map { isBound in
                try resume(bench, key: key, from: isBound ? 0 : 500, isBound: isBound)
            }
        }
        let dying = try #require(try cluster.master(ofSlot: RedisCounterBench.key(7).slot.number))
        var losers: Set<Int> = []
        for (index, worker) in bench.workers.enumerated() {
            worker.onLoss = { losers.insert(index) }
        }
        try dying.kill()
        for key in keys {
            for isBound in [true, false] {
                _ = try resume(bench, key: key, from: isBound ? 10_000 : 20_000, isBound: isBound)
            }
        }
        #expect(try bench.verdicts(accepted).allSatisfy { $0 != .accepted })
        // The replica may lack what its master accepted last: each worker is told.
        try bench.run { losers.count == bench.workers.count }
        // It comes back without its data, as a replica.
        try dying.start()
        for key in keys { _ = try resume(bench, key: key, from: 30_000) }
        #expect(try bench.verdicts(accepted).allSatisfy { $0 != .accepted })
    }

    @Test("say what is missing where a server is of no cluster")
    func noCluster() throws {
        let server = try RedisServer()
        var configuration = RedisCounterBench.configuration(port: server.port)
        configuration.isCluster = true
        let bench = try RedisCounterBench(configuration)
        try bench.run { bench.worker.lastFailure?.description.contains("luster") == true }
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .unavailable)
    }
}
