import Attestation
import EventLoop
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

@Suite(
    "Counters in a Redis that fails", .enabled(if: RedisServer.isInstalled),
    .timeLimit(.minutes(30)))
struct RedisFaultTests {}

extension RedisFaultTests {
    @Test("refuse every challenge older than a loss of data", arguments: ["FLUSHALL", "FLUSHDB"])
    func flush(command: String) throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server, workerCount: 2)
        let before = try #require(bench.worker.anyIncarnation)
        let accepted = bench.request(counter: 1, challenge: 1)
        let unused = bench.request(counter: 2, challenge: 2)
        #expect(try bench.verdict(accepted) == .accepted)
        try server.command(command)
        #expect(
            try bench.verdicts([accepted, unused]) == [.incarnationChanged, .incarnationChanged])
        try bench.run { bench.workers.allSatisfy { $0.anyIncarnation != before } }
        #expect(Set(bench.workers.map(\.anyIncarnation)).count == 1)
        #expect(
            try bench.verdicts([accepted, unused]) == [.incarnationChanged, .incarnationChanged])
        #expect(try bench.verdict(bench.request(counter: 2, challenge: 3)) == .accepted)
    }

    @Test(
        "refuse every challenge older than a restart, whatever was kept",
        arguments: [["--save", ""], ["--appendonly", "yes", "--appendfsync", "always"]])
    func restart(arguments: [String]) throws {
        let server = try RedisServer(arguments)
        let bench = try RedisCounterBench(server)
        let before = try #require(bench.worker.anyIncarnation)
        let accepted = bench.request(counter: 5, challenge: 1)
        let unused = bench.request(counter: 6, challenge: 2)
        #expect(try bench.verdict(accepted) == .accepted)
        try server.kill()
        try bench.run { !bench.worker.isConnected }
        #expect(try bench.verdict(unused) == .unavailable)
        #expect(bench.worker.anyIncarnation == before)
        try server.start()
        try bench.connect()
        #expect(bench.worker.anyIncarnation != before)
        #expect(
            try bench.verdicts([accepted, unused]) == [.incarnationChanged, .incarnationChanged])
        let isKept = arguments.contains("yes")
        #expect(
            try bench.verdict(bench.request(counter: 5, challenge: 3))
                == (isKept ? .counterUsed : .accepted))
    }

    @Test("refuse challenges from before an old dump was put back")
    func oldDump() throws {
        let server = try RedisServer(["--save", "3600 100000"])
        let bench = try RedisCounterBench(server)
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
        try server.command("SAVE")
        let accepted = bench.request(counter: 2, challenge: 2)
        #expect(try bench.verdict(accepted) == .accepted)
        try server.restart()
        try bench.run { !bench.worker.isConnected }
        try bench.connect()
        #expect(try bench.verdict(accepted) == .incarnationChanged)
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 3)) == .counterUsed)
    }

    @Test("notice a new incarnation that nobody's answer tells of")
    func check() throws {
        let server = try RedisServer()
        var configuration = RedisCounterBench.configuration(port: server.port)
        configuration.checkInterval = .milliseconds(10)
        let bench = try RedisCounterBench(configuration)
        try bench.connect()
        let before = bench.worker.anyIncarnation
        try server.command("FLUSHALL")
        try bench.run { bench.worker.anyIncarnation != before }
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
    }

    @Test("say that an incarnation has ended once they know the one that follows")
    func successor() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        let request = bench.request(counter: 1, challenge: 1)
        try server.command("FLUSHALL")
        #expect(try bench.verdict(request) == .incarnationChanged)
        // What the client is given for its next try is sealed now.
        #expect(bench.worker.anyIncarnation != request.challenge.incarnation)
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 2)) == .accepted)
    }

    @Test("do not follow the client of an old challenge, but do follow that of a newer one")
    func staleWorker() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server, workerCount: 2)
        let old = bench.request(counter: 1, challenge: 1)
        try server.command("FLUSHALL")
        #expect(try bench.verdict(old) == .incarnationChanged)
        try bench.run { bench.workers[0].anyIncarnation != old.challenge.incarnation }
        #expect(bench.workers[1].anyIncarnation == old.challenge.incarnation)
        let new = bench.request(counter: 1, challenge: 2)
        let elsewhere = bench.request(key: 2, counter: 1, challenge: 2)
        #expect(try bench.verdicts([new, elsewhere]) == [.accepted, .accepted])
        try bench.run { bench.workers[1].anyIncarnation == new.challenge.incarnation }
    }

    @Test("begin anew when their server was demoted, overwritten and promoted again")
    func demotion() throws {
        let master = try RedisServer()
        let other = try RedisServer()
        try other.replicate(master)
        let bench = try RedisCounterBench(master)
        let before = try #require(bench.worker.anyIncarnation)
        let accepted = bench.request(counter: 1, challenge: 1)
        // The record reaches the replica.
        try master.waitForReplica()
        try other.command("REPLICAOF", "NO", "ONE")
        // The other one misses this, and then takes over.
        #expect(try bench.verdict(accepted) == .accepted)
        try master.replicate(other)
        try master.command("REPLICAOF", "NO", "ONE")
        // The process and the connection are the same, and so is the record that came back with
        // the old data.
        #expect(try master.command("GET", "sallyport:incarnation").hasPrefix(text(before)))
        #expect(try bench.verdict(accepted) == .incarnationChanged)
        try bench.run { bench.worker.anyIncarnation != before }
        #expect(try bench.verdict(accepted) == .incarnationChanged)
        #expect(try RedisCounterBench(master).worker.anyIncarnation == bench.worker.anyIncarnation)
    }

    private func text(_ incarnation: Incarnation) -> String {
        let digits = String(incarnation.value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    @Test("do not use a replica")
    func replica() throws {
        let server = try RedisServer(["--replicaof", "127.0.0.1", "\(FreePort.find())"])
        let bench = try RedisCounterBench(RedisCounterBench.configuration(port: server.port))
        try bench.run { bench.worker.lastFailure != nil }
        #expect(bench.worker.lastFailure?.description.contains("not a master") == true)
        #expect(bench.worker.anyIncarnation == nil)
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .unavailable)
        try server.command("REPLICAOF", "NO", "ONE")
        try bench.connect()
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
    }

    @Test("leave a master that becomes a replica")
    func becomesReplica() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        try server.command("REPLICAOF", "127.0.0.1", "\(FreePort.find())")
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .unavailable)
        try bench.run { !bench.worker.isConnected }
        try server.command("REPLICAOF", "NO", "ONE")
        try bench.connect()
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
    }

    @Test("load the script again where the server has forgotten it")
    func scriptFlush() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        for round in 1...3 {
            try server.command("SCRIPT", "FLUSH")
            let requests = (0..<20).map { index in
                bench.request(
                    key: UInt64(index), counter: UInt32(round), challenge: UInt64(round))
            }
            #expect(try bench.verdicts(requests).allSatisfy { $0 == .accepted })
        }
    }

    @Test("change nothing where the server has no memory left, and go on when it has")
    func outOfMemory() throws {
        let server = try RedisServer()
        var configuration = RedisCounterBench.configuration(port: server.port)
        configuration.checkInterval = .milliseconds(100)
        let bench = try RedisCounterBench(configuration, server: server)
        try bench.connect()
        #expect(bench.worker.isAvailable)
        try server.command("CONFIG", "SET", "maxmemory", "1")
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .unavailable)
        #expect(bench.worker.isConnected)
        // Each look finds it out, also where nobody asks for anything else.
        try bench.run { !bench.worker.isAvailable }
        #expect(bench.worker.failureText.contains("refuses: OOM"))
        try server.command("CONFIG", "SET", "maxmemory", "0")
        try bench.run { bench.worker.isAvailable }
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
    }

    @Test("know what may have happened when the server dies under load, and come back")
    func killUnderLoad() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server, workerCount: 4)
        var counter: UInt32 = 0
        for _ in 0..<3 {
            let requests = (0..<400).map { index in
                counter += 1
                return bench.request(counter: counter, window: 1024, challenge: UInt64(counter))
            }
            var verdicts: [CounterVerdict] = []
            for (index, request) in requests.enumerated() {
                bench.workers[index % 4].advance(request) { verdict in
                    verdicts.append(verdict)
                    // The rest is on its way, half of it already answered by the server.
                    if verdicts.count == 50 { try? server.kill() }
                    bench.loop.stop()
                }
            }
            try bench.run { verdicts.count == requests.count }
            #expect(verdicts.filter { $0 == .accepted }.count >= 50)
            #expect(
                verdicts.allSatisfy { $0 == .accepted || $0 == .unknown || $0 == .unavailable })
            try bench.run { bench.workers.allSatisfy { !$0.isConnected } }
            try server.start()
            try bench.connect()
            // Nothing of before is accepted any more, whether it was or not.
            let again = try bench.verdicts(requests)
            #expect(again.allSatisfy { $0 == .incarnationChanged })
        }
    }

    @Test("do not know what a stopped server did, and never mistake its late answers")
    func stoppedServer() throws {
        let server = try RedisServer()
        var configuration = RedisCounterBench.configuration(port: server.port)
        configuration.connection.commandTimeout = .seconds(2)
        let bench = try RedisCounterBench(configuration)
        try bench.connect()
        server.stop()
        let requests = (1...10).map {
            bench.request(counter: $0, window: 64, challenge: UInt64($0))
        }
        #expect(try bench.verdicts(requests).allSatisfy { $0 == .unknown })
        #expect(!bench.worker.isConnected)
        #expect(try bench.verdict(requests[0]) == .unavailable)
        server.resume()
        try bench.connect()
        // It did them all: their bytes had reached it.
        #expect(try bench.verdicts(requests).allSatisfy { $0 == .replayed })
        let fresh = bench.request(counter: 11, window: 64, challenge: 11)
        #expect(try bench.verdict(fresh) == .accepted)
    }

    @Test(
        "believe no server that answers nonsense",
        arguments: [
            ":10\r\n", ":17\r\n", ":0\r\n", ":1\r\n", ":-11\r\n", "+OK\r\n", "$2\r\n11\r\n",
            "*1\r\n:11\r\n", "$-1\r\n", "*0\r\n", "nonsense\r\n", "$-7\r\n", ":11",
            "*999999999\r\n",
        ])
    func nonsense(answer: String) throws {
        let server = try ScriptedRedisServer { words, connection in
            switch words.first {
            case "EVAL": .bytes(ScriptedLook.answer)
            case "SCRIPT": .bytes("$40\r\n\(String(repeating: "ab", count: 20))\r\n")
            case "EVALSHA" where words.contains("trial"): .bytes(ScriptedLook.trialAnswer)
            case "EVALSHA":
                connection > 0 ? .bytes(":11\r\n") : answer == ":11" ? .last(":11") : .bytes(answer)
            default: .bytes("+OK\r\n")
            }
        }
        let bench = try RedisCounterBench(RedisCounterBench.configuration(port: server.port))
        try bench.connect()
        #expect(bench.worker.anyIncarnation == Incarnation(0x0123_4567_89ab_cdef))
        let request = bench.request(counter: 1, challenge: 1)
        #expect(try bench.verdicts([request, request]) == [.unknown, .unknown])
        try bench.connect()
        #expect(try bench.verdict(request) == .accepted)
    }

    @Test(
        "know by the error whether anything was done",
        arguments: [
            ("-OOM command not allowed", .unavailable, true),
            ("-MISCONF Redis is configured to save", .unavailable, true),
            ("-CLUSTERDOWN Hash slot not served", .unavailable, true),
            ("-BUSY Redis is busy running a script", .unavailable, true),
            ("-READONLY You can't write", .unavailable, false),
            ("-LOADING Redis is loading", .unavailable, false),
            ("-MASTERDOWN Link with MASTER is down", .unavailable, false),
            ("-NOSCRIPT No matching script", .unavailable, true),
            ("-ERR Error running script: killed", .unknown, true),
            ("-", .unknown, true),
        ] as [(String, CounterVerdict, Bool)])
    func errors(line: String, verdict: CounterVerdict, isConnected: Bool) throws {
        let server = try ScriptedRedisServer { words, _ in
            switch words.first {
            case "EVAL": .bytes(ScriptedLook.answer)
            case "SCRIPT": .bytes("$40\r\n\(String(repeating: "ab", count: 20))\r\n")
            case "EVALSHA" where words.contains("trial"): .bytes(ScriptedLook.trialAnswer)
            case "EVALSHA": .bytes(line + "\r\n")
            default: .bytes("+OK\r\n")
            }
        }
        let bench = try RedisCounterBench(RedisCounterBench.configuration(port: server.port))
        try bench.connect()
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == verdict)
        #expect(bench.worker.isConnected == isConnected)
    }

    @Test(
        "look at the whole identity again after a call that was to look and did not run",
        arguments: ["-OOM no memory", "-BUSY a script runs", "-NOSCRIPT none", "-ERR killed"])
    func lookThatDidNotRun(line: String) throws {
        let looks = Locked<[String]>([])
        let server = try ScriptedRedisServer { words, _ in
            switch words.first {
            case "EVAL": return .bytes(ScriptedLook.answer)
            case "SCRIPT": return .bytes("$40\r\n\(String(repeating: "ab", count: 20))\r\n")
            case "EVALSHA" where words.contains("trial"):
                return .bytes(ScriptedLook.trialAnswer)
            case "EVALSHA":
                let count = looks.withLock { looks in
                    looks.append(words.last ?? "")
                    return looks.count
                }
                return .bytes(count == 1 ? line + "\r\n" : ":11\r\n")
            default: return .bytes("+OK\r\n")
            }
        }
        let bench = try RedisCounterBench(RedisCounterBench.configuration(port: server.port))
        try bench.connect()
        _ = try bench.verdict(bench.request(counter: 1, challenge: 1))
        #expect(try bench.verdict(bench.request(counter: 2, challenge: 2)) == .accepted)
        #expect(looks.withLock { $0.prefix(2) } == ["whole", "whole"])
    }

    @Test(
        "take no handshake that is not one",
        arguments: [
            "+OK\r\n", ScriptedLook.text("0123456789ABCDEF"), ScriptedLook.text("0123456789abcde"),
            ScriptedLook.text("+123456789abcdef"), ScriptedLook.text(history: "0"),
            ScriptedLook.text(time: 0), ScriptedLook.text(time: .max),
            "$16\r\n0123456789abcdef\r\n",
            "-LOADING Redis is loading\r\n", ":1\r\n", "$-1\r\n",
            "-NOAUTH Authentication required.\r\n", "rubbish\r\n",
        ])
    func badHandshake(answer: String) throws {
        let server = try ScriptedRedisServer { words, connection in
            switch words.first {
            case "EVAL": .bytes(connection < 2 ? answer : ScriptedLook.answer)
            case "SCRIPT": .bytes("$40\r\n\(String(repeating: "ab", count: 20))\r\n")
            case "EVALSHA": .bytes(ScriptedLook.trialAnswer)
            default: .bytes("+OK\r\n")
            }
        }
        let bench = try RedisCounterBench(RedisCounterBench.configuration(port: server.port))
        try bench.run { bench.worker.lastFailure != nil }
        #expect(bench.worker.anyIncarnation == nil)
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .unavailable)
        try bench.connect()
        #expect(bench.worker.anyIncarnation == Incarnation(0x0123_4567_89ab_cdef))
    }
}

/// What the incarnation script answers, where a scripted server says it.
enum ScriptedLook {
    static let answer = text("0123456789abcdef")
    /// What the counter script answers where it is only tried.
    static let trialAnswer = ":14\r\n"

    static func text(
        _ incarnation: String = "0123456789abcdef",
        history: String = String(repeating: "a", count: 40), time: Int = 1_800_000_000_000,
        refusal: String = ""
    ) -> String {
        func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }
        return "*5\r\n" + bulk(incarnation) + bulk(history)
            + ":\(time)\r\n:\(time)\r\n" + bulk(refusal)
    }
}
