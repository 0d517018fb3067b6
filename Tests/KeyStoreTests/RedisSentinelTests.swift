import Attestation
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

@Suite(
    "Counters behind Sentinels", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisSentinelTests {}

extension RedisSentinelTests {
    /// Sends what was accepted again, and new requests, until a new one is accepted.
    private func resume(
        _ bench: RedisCounterBench, accepted: [CounterAdvance], counter: UInt32
    ) throws {
        var next = counter
        let limit = ContinuousClock.now + RedisCounterBench.patience
        while true {
            guard ContinuousClock.now < limit else { throw RedisCounterBench.TookTooLong() }
            bench.pause()
            for request in accepted {
                let verdict = try bench.verdict(request)
                #expect(verdict != .accepted)
            }
            next += 1
            let fresh = bench.request(counter: next, challenge: UInt64(next))
            if try bench.verdict(fresh) == .accepted { break }
        }
        for request in accepted {
            let verdict = try bench.verdict(request)
            #expect(verdict == .incarnationChanged || verdict == .replayed)
        }
    }

    @Test("follow the master through failovers, and accept nothing twice")
    func failover() throws {
        let set = try RedisSentinelSet()
        let bench = try RedisCounterBench(RedisCounterBench.configuration(set), workerCount: 2)
        try bench.connect()
        let accepted = (1...20).map { bench.request(counter: $0, challenge: UInt64($0)) }
        for request in accepted { #expect(try bench.verdict(request) == .accepted) }
        try set.failOver()
        try resume(bench, accepted: accepted, counter: 100)
        // And once more, by the master's death.
        let second = bench.request(counter: 10_000, challenge: 10_000)
        #expect(try bench.verdict(second) == .accepted)
        let dying = try #require(try set.master())
        try dying.kill()
        try set.waitForMaster(other: dying)
        try resume(bench, accepted: accepted + [second], counter: 20_000)
    }

    @Test("accept nothing twice though the promoted replica lags")
    func lag() throws {
        let set = try RedisSentinelSet(replicaCount: 1)
        let bench = try RedisCounterBench(RedisCounterBench.configuration(set))
        try bench.connect()
        let before = bench.request(counter: 1, challenge: 1)
        #expect(try bench.verdict(before) == .accepted)
        try set.servers[0].waitForReplica()
        // What follows reaches the master alone.
        set.servers[1].stop()
        let lost = (2...10).map { bench.request(counter: $0, challenge: UInt64($0)) }
        for request in lost { #expect(try bench.verdict(request) == .accepted) }
        try set.servers[0].kill()
        set.servers[1].resume()
        try set.waitForMaster(other: set.servers[0])
        try resume(bench, accepted: [before] + lost, counter: 50)
    }

    @Test("find the master while most Sentinels are gone or stand still")
    func sentinelsGone() throws {
        let set = try RedisSentinelSet(replicaCount: 1)
        try set.sentinels[0].kill()
        set.sentinels[1].stop()
        let bench = try RedisCounterBench(RedisCounterBench.configuration(set), workerCount: 3)
        try bench.connect()
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
        set.sentinels[1].resume()
    }

    @Test("use no replica, whatever Sentinels say, and say which name is not known")
    func wrongAnswers() throws {
        let set = try RedisSentinelSet(replicaCount: 1)
        let bench = try RedisCounterBench(RedisCounterBench.configuration(set, master: "other"))
        try bench.run { bench.worker.lastFailure?.description.contains("\"other\"") == true }
        let replica = set.servers[1].port
        let liar = try ScriptedRedisServer { words, _ in
            switch words[0] {
            case "SENTINEL": .bytes("*2\r\n$9\r\n127.0.0.1\r\n$5\r\n\(replica)\r\n")
            default: .bytes("+OK\r\n")
            }
        }
        var misled = RedisCounterBench.configuration(set)
        misled.sentinel?.connection.endpoints = [.tcp(host: "127.0.0.1", port: liar.port)]
        let second = try RedisCounterBench(misled)
        try second.run { second.worker.lastFailure?.description.contains("master") == true }
        #expect(!second.worker.isConnected)
    }
}
