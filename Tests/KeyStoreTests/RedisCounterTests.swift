import Attestation
import Bytes
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

@Suite(
    "Counters in Redis", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisCounterTests {}

extension RedisCounterTests {
    @Test("accept each counter once, and only a higher one, where the policy is strict")
    func strict() throws {
        let bench = try RedisCounterBench(RedisServer())
        let table: [(counter: UInt32, verdict: CounterVerdict)] = [
            (0, .counterTooLow), (1, .accepted), (1, .counterUsed), (2, .accepted), (5, .accepted),
            (4, .counterTooLow), (2, .counterUsed), (5, .counterUsed), (3000, .accepted),
            (6, .counterTooLow), (.max - 1, .accepted), (.max, .accepted), (.max, .counterUsed),
            (0, .counterTooLow),
        ]
        for (index, row) in table.enumerated() {
            let request = bench.request(counter: row.counter, challenge: UInt64(index))
            #expect(try bench.verdict(request) == row.verdict, "row \(index)")
        }
    }

    @Test("accept any order inside the window, and nothing twice or below it")
    func window() throws {
        let bench = try RedisCounterBench(RedisServer())
        let table: [(counter: UInt32, verdict: CounterVerdict)] = [
            (10, .accepted), (7, .accepted), (9, .accepted), (7, .counterUsed), (8, .accepted),
            (10, .counterUsed), (73, .accepted), (10, .counterUsed), (9, .counterUsed),
            (72, .accepted), (11, .accepted), (11, .counterUsed), (8, .counterUsed),
            (6, .counterTooLow), (2000, .accepted), (1936, .counterTooLow), (1937, .accepted),
            (1999, .accepted), (73, .counterTooLow),
        ]
        for (index, row) in table.enumerated() {
            let request = bench.request(
                counter: row.counter, window: 64, challenge: UInt64(index))
            #expect(try bench.verdict(request) == row.verdict, "row \(index)")
        }
    }

    @Test("agree between the policies of different routes")
    func mixedPolicies() throws {
        let bench = try RedisCounterBench(RedisServer())
        let table: [(counter: UInt32, window: Int, verdict: CounterVerdict)] = [
            (5, 1, .accepted), (9, 1, .accepted), (5, 64, .counterUsed), (9, 64, .counterUsed),
            (7, 64, .accepted), (7, 1, .counterUsed), (8, 1, .counterTooLow), (8, 2, .accepted),
            (6, 2, .counterTooLow), (6, 1024, .accepted), (1034, 64, .accepted),
            (10, 1024, .counterTooLow), (11, 1024, .accepted), (11, 5000, .counterUsed),
            (10, .max, .counterTooLow), (1033, 0, .counterTooLow), (1033, -5, .counterTooLow),
        ]
        for (index, row) in table.enumerated() {
            let request = bench.request(
                counter: row.counter, window: row.window, challenge: UInt64(index))
            #expect(try bench.verdict(request) == row.verdict, "row \(index)")
        }
    }

    @Test("accept no counter up to the registry's floor")
    func floor() throws {
        let bench = try RedisCounterBench(RedisServer())
        let table: [(counter: UInt32, floor: UInt32, verdict: CounterVerdict)] = [
            (100, 100, .counterTooLow), (99, 100, .counterTooLow), (102, 100, .accepted),
            (101, 100, .accepted), (100, 0, .counterUsed), (99, 0, .counterUsed),
            (103, 500, .counterTooLow), (501, 500, .accepted), (103, 0, .counterUsed),
            (499, 0, .counterUsed), (.max, .max, .counterTooLow),
        ]
        for (index, row) in table.enumerated() {
            let request = bench.request(
                counter: row.counter, window: 1024, challenge: UInt64(index), floor: row.floor)
            #expect(try bench.verdict(request) == row.verdict, "row \(index)")
        }
    }

    @Test("spend a challenge once for each key, and only on acceptance")
    func challenges() throws {
        let bench = try RedisCounterBench(RedisServer())
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .replayed)
        #expect(try bench.verdict(bench.request(counter: 2, challenge: 1)) == .challengeSpent)
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 2)) == .counterUsed)
        #expect(try bench.verdict(bench.request(counter: 2, challenge: 2)) == .accepted)
        #expect(try bench.verdict(bench.request(key: 2, counter: 1, challenge: 1)) == .accepted)
    }

    @Test("accept exactly one of many racing requests with the same assertion")
    func race() throws {
        let bench = try RedisCounterBench(RedisServer(), workerCount: 8)
        #expect(Set(bench.workers.map(\.anyIncarnation)).count == 1)
        for round in 1...50 {
            let request = bench.request(
                counter: UInt32(round), window: 64, challenge: UInt64(round))
            let verdicts = try bench.verdicts([CounterAdvance](repeating: request, count: 24))
            #expect(verdicts.filter { $0 == .accepted }.count == 1)
            #expect(verdicts.filter { $0 == .replayed }.count == 23)
        }
    }

    @Test("accept exactly one of many racing requests with the same challenge or counter")
    func raceOfDifferent() throws {
        let bench = try RedisCounterBench(RedisServer(), workerCount: 8)
        let sameChallenge = (1...24).map { bench.request(counter: $0, window: 64, challenge: 1) }
        let first = try bench.verdicts(sameChallenge)
        #expect(first.filter { $0 == .accepted }.count == 1)
        #expect(first.filter { $0 == .challengeSpent }.count == 23)
        let sameCounter = (2...25).map { bench.request(counter: 100, window: 64, challenge: $0) }
        let second = try bench.verdicts(sameCounter)
        #expect(second.filter { $0 == .accepted }.count == 1)
        #expect(second.filter { $0 == .counterUsed }.count == 23)
    }

    @Test("refuse a revoked key at once, and for as long as its mark is there")
    func revocation() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        let configuration = RedisCounterBench.configuration(port: server.port)
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
        let many = (0..<1500).map { RedisCounterBench.key($0) }
        try RedisRevocations.mark(many, configuration: configuration)
        #expect(try server.command("DBSIZE") == "1503")
        #expect(try bench.verdict(bench.request(counter: 2, challenge: 2)) == .revoked)
        #expect(try bench.verdict(bench.request(key: 5000, counter: 1, challenge: 2)) == .accepted)
        #expect(try server.command("DEL", RedisCounterBench.markName(many[1])) == "1")
        #expect(try bench.verdict(bench.request(counter: 2, challenge: 2)) == .accepted)
        try RedisRevocations.mark([], configuration: configuration)
    }

    @Test("say why a key could not be revoked")
    func revocationFailure() throws {
        let nowhere = RedisCounterBench.configuration(port: FreePort.find())
        #expect(throws: RedisRevocationError.self) {
            try RedisRevocations.mark([RedisCounterBench.key(1)], configuration: nowhere)
        }
        let server = try RedisServer(["--replicaof", "127.0.0.1", "\(FreePort.find())"])
        let error = #expect(throws: RedisRevocationError.self) {
            try RedisRevocations.mark(
                [RedisCounterBench.key(1)],
                configuration: RedisCounterBench.configuration(port: server.port))
        }
        #expect(error?.description.contains("READONLY") == true)
    }

    @Test("keep what they need to know long enough, and no longer")
    func expiry() throws {
        let server = try RedisServer()
        var configuration = RedisCounterBench.configuration(port: server.port)
        configuration.keyPrefix = "p:"
        configuration.deviceLifetime = .seconds(1000)
        configuration.grace = .seconds(10)
        let bench = try RedisCounterBench(configuration)
        try bench.connect()
        func life(_ pattern: String) throws -> Int {
            let key = try server.command("KEYS", pattern)
            return Int(try server.command("PTTL", key)) ?? -3
        }
        let first = bench.request(counter: 1, challenge: 1, remainingMilliseconds: 50_000)
        #expect(try bench.verdict(first) == .accepted)
        #expect((50_000...60_000).contains(try life("p:{*}:spent:*")))
        #expect((900_000...1_000_000).contains(try life("p:{*}:counter")))
        #expect(try life("p:incarnation") == -1)
        // A challenge that outlives the setting takes the counter with it.
        let second = bench.request(
            key: 2, counter: 1, challenge: 2, remainingMilliseconds: 9_000_000)
        #expect(try bench.verdict(second) == .accepted)
        let keys = try server.command("KEYS", "p:*:counter").split(separator: "\n")
        let lives = try keys.map { Int(try server.command("PTTL", String($0))) ?? 0 }
        #expect((lives.max() ?? 0) > 8_000_000)
        // What is over is not accepted; nonsense lives are cut to what Redis takes.
        for (index, life) in [Int64.min, -1, 0, .max].enumerated() {
            let request = bench.request(
                key: 3, counter: UInt32(index) + 1, challenge: UInt64(index),
                remainingMilliseconds: life)
            #expect(
                try bench.verdict(request) == (life == .max ? .accepted : .challengeExpired))
        }
    }
}
