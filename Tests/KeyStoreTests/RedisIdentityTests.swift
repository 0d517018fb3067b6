import Foundation
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

/// What changes the identity of a Redis that goes on in the same process, one test a line of
/// ``ServerLife``. `RedisFaultTests` has those of restarts, promotions and flushes.
@Suite(
    "Counters in a Redis that forgets in silence", .enabled(if: RedisServer.isInstalled),
    .timeLimit(.minutes(30)))
struct RedisIdentityTests {}

extension RedisIdentityTests {
    private static let recordName = "sallyport:incarnation"

    private func accept(_ bench: RedisCounterBench, count: UInt64) throws -> [CounterAdvance] {
        let requests = (1...count).map { bench.request(key: $0, counter: 1, challenge: $0) }
        #expect(try bench.verdicts(requests).allSatisfy { $0 == .accepted })
        return requests
    }

    /// None is accepted, neither now nor when the incarnation that follows is known.
    private func refuse(_ accepted: [CounterAdvance], _ bench: RedisCounterBench) throws {
        let before = bench.incarnation
        #expect(try bench.verdicts(accepted).allSatisfy { $0 == .incarnationChanged })
        try bench.run { bench.incarnation != before }
        #expect(try bench.verdicts(accepted).allSatisfy { $0 == .incarnationChanged })
        let fresh = bench.request(key: 1_000_000, counter: 1, challenge: 1_000_000)
        #expect(try bench.verdict(fresh) == .accepted)
    }

    /// Makes the server throw away what ends soonest, until no mark of a spent challenge is left.
    ///
    /// Redis looks for what ends soonest among a sample of the keys only, so a mark may outlive
    /// any number of writes: they go on while one is left.
    private func evict(_ server: RedisServer) throws {
        try server.command("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
        try server.command("CONFIG", "SET", "maxmemory", "3mb")
        let value = String(repeating: "x", count: 10_000)
        let dialog = try RedisDialog(server.socketPath)
        var rounds = 0
        repeat {
            for number in 0..<600 {
                _ = try dialog.ask(["SET", "filler\(number)", value, "EX", "100000000"])
            }
            rounds += 1
        } while try rounds < 100 && !server.command("KEYS", "*:spent:*").isEmpty
        try #require(try server.command("KEYS", "*:spent:*").isEmpty)
        try server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        try server.command("CONFIG", "SET", "maxmemory", "0")
    }

    @Test(
        "refuse what was accepted before keys were evicted, though the policy is noeviction again")
    func eviction() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server, workerCount: 2)
        let accepted = try accept(bench, count: 60)
        try evict(server)
        bench.pause(.milliseconds(60))
        #expect(try server.command("GET", Self.recordName).isEmpty == false)
        try refuse(accepted, bench)
    }

    /// Calls the script for counter 1 of a device that has `key` for a name, under the server's
    /// incarnation.
    private func call(
        _ server: RedisServer, _ key: String, source: String = CounterScript.source,
        look: String = "whole"
    ) throws -> String {
        let record = try server.command("GET", Self.recordName)
        let soon = Int(Date().timeIntervalSince1970 * 1000) + 60_000
        let arguments = [
            "4", "\(key):revoked", "\(key):counter", "\(key):spent:1", Self.recordName, "whole",
            Self.recordName, String(record.prefix(16)), "1", "1", "0", "\(soon)", "0",
            "60000", "0", "server", look,
        ]
        return try server.command(["EVAL", source] + arguments)
    }

    @Test("refuse what was accepted before an eviction at once, also where no look is due")
    func evictionBetweenLooks() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        #expect(bench.worker.isConnected)
        let accepted = try call(server, "a", look: "quick")
        let replayed = try call(server, "a", look: "quick")
        #expect(accepted != replayed)
        try evict(server)
        let again = try call(server, "a", look: "quick")
        #expect(again != accepted && again != replayed)
        #expect(try server.command("KEYS", "a:*").isEmpty)
        #expect(try server.command("GET", Self.recordName).isEmpty)
    }

    @Test("refuse what was accepted before keys were evicted and the statistics reset")
    func resetStatistics() throws {
        let server = try RedisServer()
        let accepted = try accept(RedisCounterBench(server), count: 60)
        try evict(server)
        // The next incarnation; its record counts all commands since the start.
        let bench = try RedisCounterBench(server)
        let again = try accept(bench, count: 60)
        try server.command("CONFIG", "RESETSTAT")
        bench.pause(.milliseconds(60))
        try refuse(accepted + again, bench)
    }

    @Test("refuse a server while it may evict keys, and go on when it may not")
    func policy() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        let accepted = try accept(bench, count: 1)
        try server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        try server.command("CONFIG", "SET", "maxmemory", "100mb")
        bench.pause(.milliseconds(60))
        #expect(try bench.verdict(bench.request(counter: 2, challenge: 2)) == .unavailable)
        try bench.run { bench.worker.lastFailure?.description.contains("EVICTION") == true }
        try server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        try bench.connect()
        // Nothing was evicted.
        #expect(try bench.verdicts(accepted) == [.replayed])
    }

    @Test("refuse what was accepted after a dump that was loaded into the same process")
    func reload() throws {
        let server = try RedisServer([
            "--save", "3600 100000", "--enable-debug-command", "yes",
        ])
        let first = try RedisCounterBench(server)
        _ = try accept(first, count: 1)
        try server.command("SAVE")
        // Somebody has looked since.
        let bench = try RedisCounterBench(server)
        let lost = (10...20).map { bench.request(key: $0, counter: 1, challenge: $0) }
        #expect(try bench.verdicts(lost).allSatisfy { $0 == .accepted })
        try server.command("DEBUG", "RELOAD", "NOSAVE")
        try refuse(lost, bench)
        // A gateway that has seen none of it does not go on under the old incarnation either.
        try server.command("DEBUG", "RELOAD", "NOSAVE")
        #expect(try RedisCounterBench(server).verdicts(lost).allSatisfy { $0 != .accepted })
    }

    @Test(
        "refuse what was accepted before the server's clock went back, or stood ahead of all looks",
        .enabled(if: SteppedClock.isPossible),
        arguments: [-3600, -60, -15, 40, 3600, 32 * 24 * 3600])
    func clock(step: Int) throws {
        let directory = try ScratchDirectory()
        let clock = try SteppedClock("redis", in: directory)
        let server = try RedisServer(launcher: clock.launcher)
        let bench = try RedisCounterBench(server)
        let accepted = try accept(bench, count: 10)
        try clock.set(step)
        try refuse(accepted, bench)
        // A gateway that has just begun does not take the record for a living one either.
        try clock.set(0)
        #expect(try RedisCounterBench(server).verdicts(accepted).allSatisfy { $0 != .accepted })
    }

    @Test("go on where the server's clock is corrected by seconds", arguments: [-3, 3])
    func correction(step: Int) throws {
        let directory = try ScratchDirectory()
        let clock = try SteppedClock("redis", in: directory)
        let server = try RedisServer(launcher: clock.launcher)
        let bench = try RedisCounterBench(server)
        let accepted = try accept(bench, count: 1)
        try clock.set(step)
        #expect(try bench.verdicts(accepted) == [.replayed])
        #expect(try RedisCounterBench(server).incarnation == bench.incarnation)
    }

    @Test("begin anew by the clock's highest time where it goes back step by step")
    func smallSteps() throws {
        let directory = try ScratchDirectory()
        let clock = try SteppedClock("redis", in: directory)
        let server = try RedisServer(launcher: clock.launcher)
        let bench = try RedisCounterBench(server)
        let accepted = try accept(bench, count: 1)
        for step in [-4, -8, -12, -16] {
            try clock.set(step)
            _ = try RedisCounterBench(server)
        }
        #expect(try bench.verdicts(accepted) == [.incarnationChanged])
    }

    @Test(
        "say that a full server cannot be used, not that clients are to sign again",
        .enabled(if: SteppedClock.isPossible))
    func fullAtTheEnd() throws {
        let directory = try ScratchDirectory()
        let clock = try SteppedClock("redis", in: directory)
        let server = try RedisServer(launcher: clock.launcher)
        let bench = try RedisCounterBench(server)
        let accepted = try accept(bench, count: 1)
        try server.command("CONFIG", "SET", "maxmemory", "1")
        // Nobody has looked for longer than an incarnation lasts by itself.
        try clock.set(40)
        #expect(try bench.verdicts(accepted) == [.unavailable])
        #expect(bench.worker.isConnected)
        try server.command("CONFIG", "SET", "maxmemory", "0")
        try refuse(accepted, bench)
    }

    @Test("accept nothing at a replica that may be written to")
    func writableReplica() throws {
        let server = try RedisServer(["--replica-read-only", "no"])
        let bench = try RedisCounterBench(server)
        _ = try accept(bench, count: 1)
        try server.command("REPLICAOF", "127.0.0.1", "\(FreePort.find())")
        let fresh = bench.request(counter: 2, challenge: 2)
        #expect(try bench.verdict(fresh) == .unavailable)
        try bench.run { !bench.worker.isConnected }
        try server.command("REPLICAOF", "NO", "ONE")
        try bench.connect()
        #expect(try bench.verdict(fresh) != .accepted)
    }

    /// `INFO` without what one of the lines says, and the script after it.
    private func script(_ source: String, without name: String) -> String {
        """
        local real = redis
        local redis = setmetatable({}, {__index = real})
        redis.call = function(...)
          local answer = real.call(...)
          if type(answer) == 'string' then
            answer = string.gsub(answer, '\\n\(name):[^\\n]*', '')
          end
          return answer
        end
        \(source)
        """
    }

    @Test(
        "use no server that hides what its identity is made of",
        arguments: [
            "master_replid", "role", "run_id", "evicted_keys", "total_commands_processed",
        ])
    func hiddenIdentity(name: String) throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        #expect(bench.worker.isConnected)
        let look = try server.command(
            "EVAL", script(IncarnationScript.source, without: name), "1", "other:record",
            "0123456789abcdef", "", "", "0", "0")
        #expect(look.hasPrefix(name == "role" ? "READONLY" : "NOIDENTITY"), "\(look)")
        func answer(of key: String, without name: String) throws -> String {
            try call(server, key, source: script(CounterScript.source, without: name))
        }
        let accepted = try answer(of: "a", without: "nothing")
        #expect(try !server.command("KEYS", "a:*").isEmpty, "\(accepted)")
        let refused = try answer(of: "b", without: name)
        #expect(refused != accepted)
        #expect(try server.command("KEYS", "b:*").isEmpty)
    }
}
