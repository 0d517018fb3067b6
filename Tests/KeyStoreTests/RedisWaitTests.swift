import EventLoop
import GatewayTesting
import KeyStore
import RedisKeyStore
import Testing

@Suite(
    "Waiting for replicas", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisWaitTests {}

extension RedisWaitTests {
    private func bench(
        _ server: RedisServer, replicaCount: Int, timeout: Duration
    ) throws -> RedisCounterBench {
        var configuration = RedisCounterBench.configuration(port: server.port)
        configuration.wait = RedisWait(replicaCount: replicaCount, timeout: timeout)
        let bench = try RedisCounterBench(configuration, server: server)
        try bench.connect()
        return bench
    }

    @Test("gives an accepted counter once the replica has it")
    func confirmed() throws {
        let (master, replica) = try (RedisServer(), RedisServer())
        try replica.replicate(master)
        let bench = try bench(master, replicaCount: 1, timeout: .seconds(10))
        var unconfirmed = 0
        bench.worker.onUnconfirmed = { unconfirmed += $0 }
        let requests = (1...200).map { bench.request(counter: $0, challenge: UInt64($0)) }
        #expect(try bench.verdicts(requests).allSatisfy { $0 == .accepted })
        #expect(unconfirmed == 0)
        // What was confirmed is there when the master is gone.
        try master.kill()
        #expect(try replica.command("DBSIZE") == "202")
    }

    @Test("counts what too few replicas had in time, and lets it pass")
    func unconfirmed() throws {
        let bench = try bench(RedisServer(), replicaCount: 1, timeout: .milliseconds(5))
        var unconfirmed = 0
        bench.worker.onUnconfirmed = { unconfirmed += $0 }
        let requests = (1...20).map { bench.request(counter: $0, challenge: UInt64($0)) }
        #expect(try bench.verdicts(requests).allSatisfy { $0 == .accepted })
        #expect(unconfirmed == 20)
        #expect(try bench.verdicts(requests).allSatisfy { $0 == .replayed })
        #expect(unconfirmed == 20)
    }

    @Test("says that a counter was accepted though the server dies meanwhile")
    func death() throws {
        let server = try RedisServer()
        let bench = try bench(server, replicaCount: 1, timeout: .seconds(15))
        var verdict: CounterVerdict?
        bench.worker.advance(bench.request(counter: 1, challenge: 1)) { [loop = bench.loop] in
            verdict = $0
            loop.stop()
        }
        // The script has run, and WAIT stands behind it.
        while try server.command("DBSIZE") != "3" { bench.pause() }
        #expect(verdict == nil)
        try server.kill()
        try bench.run { verdict != nil }
        #expect(verdict == .accepted)
    }
}
