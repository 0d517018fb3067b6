import Bytes
import EventLoop
import GatewayTesting
import KeyStore
import RedisKeyStore
import Testing

/// What workers know of an incarnation that another one has met.
@Suite(
    "News of an incarnation", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisNewsTests {
    private let id = Bytes16(word0: 0, word1: 77)
}

extension RedisNewsTests {
    private func look(_ bench: RedisCounterBench, _ worker: RedisCounters, for one: Incarnation)
        throws
    {
        var isDone = false
        worker.look(for: one, keyID: nil, challenge: id) {
            isDone = true
            bench.loop.stop()
        }
        try bench.run { isDone }
    }

    /// The incarnation after FLUSHALL, as the first worker learns of it.
    private func flush(_ server: RedisServer, _ bench: RedisCounterBench) throws -> Incarnation {
        let old = try #require(bench.incarnation)
        try server.command("FLUSHALL")
        let request = bench.request(counter: 1, challenge: 1)
        #expect(try bench.verdict(request) == .incarnationChanged)
        let fresh = try #require(bench.incarnation)
        #expect(fresh != old)
        return fresh
    }

    @Test("no worker seals under an incarnation that another one knows to have ended")
    func sealing() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server, workerCount: 3)
        let fresh = try flush(server, bench)
        for worker in bench.workers {
            let moment = try #require(worker.sealingMoment(keyID: nil, challenge: id))
            #expect(moment.incarnation == fresh)
        }
        // Another process has to ask.
        let other = try RedisCounterBench(server)
        let later = try flush(server, bench)
        #expect(other.worker.sealingMoment(keyID: nil, challenge: id)?.incarnation == fresh)
        #expect(other.worker.mayHaveBegun(later, keyID: nil, challenge: id))
        try look(other, other.worker, for: later)
        #expect(other.incarnation == later)
        #expect(!other.worker.mayHaveBegun(later, keyID: nil, challenge: id))
    }

    @Test("what was judged by a worker of its own connection is accepted once, by any worker")
    func once() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server, workerCount: 3)
        _ = try flush(server, bench)
        for worker in bench.workers.dropFirst() {
            let incarnation = try #require(bench.incarnation)
            #expect(worker.mayHaveBegun(incarnation, keyID: nil, challenge: id))
            try look(bench, worker, for: incarnation)
        }
        let request = bench.request(counter: 2, challenge: 2)
        let verdicts = try bench.verdicts([request, request, request])
        #expect(verdicts.filter { $0 == .accepted }.count == 1)
        #expect(verdicts.filter { $0 == .replayed }.count == 2)
    }

    @Test("an incarnation that has ended costs one look, and then none")
    func ended() throws {
        let bench = try RedisCounterBench(RedisServer())
        let strange = Incarnation(1)
        #expect(bench.worker.mayHaveBegun(strange, keyID: nil, challenge: id))
        try look(bench, bench.worker, for: strange)
        #expect(!bench.worker.mayHaveBegun(strange, keyID: nil, challenge: id))
        #expect(bench.worker.mayHaveBegun(Incarnation(2), keyID: nil, challenge: id))
    }

    @Test("a look that was on its way decides nothing that came after it")
    func nextLook() throws {
        let looks = Locked(0)
        let server = try ScriptedRedisServer { words, _ in
            switch words.first {
            case "EVAL":
                let count = looks.withLock { looks in
                    looks += 1
                    return looks
                }
                return .bytes(
                    count < 3 ? ScriptedLook.answer : ScriptedLook.text("00000000000000bb"))
            case "SCRIPT": return .bytes("$40\r\n\(String(repeating: "ab", count: 20))\r\n")
            case "EVALSHA": return .bytes(ScriptedLook.trialAnswer)
            default: return .bytes("+OK\r\n")
            }
        }
        let bench = try RedisCounterBench(RedisCounterBench.configuration(port: server.port))
        try bench.connect()
        var found: [Incarnation?] = []
        for incarnation in [Incarnation(0xAA), Incarnation(0xBB)] {
            bench.worker.look(for: incarnation, keyID: nil, challenge: id) {
                found.append(bench.incarnation)
                bench.loop.stop()
            }
        }
        try bench.run { found.count == 2 }
        #expect(found == [Incarnation(0x0123_4567_89ab_cdef), Incarnation(0xBB)])
    }
}
