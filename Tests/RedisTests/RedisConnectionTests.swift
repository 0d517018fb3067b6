import EventLoop
import Foundation
import GatewayTesting
import Redis
import Testing

/// Opens one connection and runs its loop until what a test waits for has happened.
final class ConnectionBench: RedisConnectionOwner {
    let loop: EventLoop
    private(set) var connection: RedisConnection?
    private(set) var failures: [RedisFailure] = []
    private(set) var readyCount = 0
    var handshake: (RedisReply?) -> RedisHandshakeStep = { _ in .finished }

    init(_ configuration: RedisConfiguration) throws {
        loop = try EventLoop()
        connection = RedisConnection(loop: loop, configuration: configuration, owner: self)
    }

    func handshakeStep(after reply: RedisReply?) -> RedisHandshakeStep { handshake(reply) }

    func connectionBecameReady() {
        readyCount += 1
        loop.stop()
    }

    func connectionFailed(_ failure: RedisFailure) {
        failures.append(failure)
        loop.stop()
    }

    struct TookTooLong: Error {}

    func run(until isDone: () -> Bool) throws {
        var isLate = false
        let guardTimer = Timer(loop: loop) { [loop] in
            isLate = true
            loop.stop()
        }
        guardTimer.schedule(after: ChildProcess.patience)
        while !isDone() {
            if isLate { throw TookTooLong() }
            loop.run()
        }
    }

    func open() throws {
        connection?.open()
        try run { connection?.isReady == true }
    }

    /// Sends commands at once and waits for all their outcomes.
    func outcomes(_ commands: [RedisCommand]) throws -> [RedisOutcome] {
        var outcomes = [RedisOutcome?](repeating: nil, count: commands.count)
        for (index, command) in commands.enumerated() {
            connection?.send(command) { [loop] outcome in
                #expect(outcomes[index] == nil)
                outcomes[index] = outcome
                loop.stop()
            }
        }
        try run { !outcomes.contains(nil) }
        return outcomes.compactMap { $0 }
    }

    func outcome(_ words: String...) throws -> RedisOutcome? {
        var command = RedisCommand()
        for word in words { command.append(word) }
        return try outcomes([command]).first
    }
}

@Suite(
    "A connection to Redis", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisConnectionTests {}

extension RedisConnectionTests {
    private func configuration(_ server: RedisServer) -> RedisConfiguration {
        var configuration = RedisConfiguration(
            endpoint: .tcp(host: "127.0.0.1", port: server.port))
        configuration.connectTimeout = .seconds(20)
        configuration.commandTimeout = .seconds(20)
        configuration.backOff.longest = .milliseconds(100)
        return configuration
    }

    private func configuration(_ server: ScriptedRedisServer) -> RedisConfiguration {
        var configuration = RedisConfiguration(
            endpoint: .tcp(host: "127.0.0.1", port: server.port))
        configuration.clientName = ""
        configuration.backOff.longest = .milliseconds(100)
        return configuration
    }

    @Test("answers thousands of commands in order")
    func pipelining() throws {
        let server = try RedisServer()
        let bench = try ConnectionBench(configuration(server))
        try bench.open()
        let commands = (0..<3000).map { RedisCommand("ECHO", "\($0)") }
        let expected = (0..<3000).map { RedisOutcome.reply(.bulk(Array("\($0)".utf8))) }
        #expect(try bench.outcomes(commands) == expected)
        #expect(try bench.outcome("CLIENT", "GETNAME") == .reply(.bulk(Array("sallyport".utf8))))
    }

    @Test("refuses commands beyond its bound, at once, and takes more later")
    func bound() throws {
        let server = try RedisServer()
        var configuration = configuration(server)
        configuration.inFlightCountMax = 3
        let bench = try ConnectionBench(configuration)
        try bench.open()
        let pong = RedisOutcome.reply(.simpleString("PONG"))
        for _ in 0..<2 {
            let outcomes = try bench.outcomes((0..<5).map { _ in RedisCommand("PING") })
            #expect(outcomes == [pong, pong, pong, .full, .full])
        }
    }

    @Test("reaches a server by name, by a unix socket, with a password, in another database")
    func endpoints() throws {
        let server = try RedisServer(["--requirepass", "p w"])
        let places: [(endpoint: RedisEndpoint, username: String?)] = [
            (.tcp(host: "localhost", port: server.port), nil),
            (.unix(path: server.socketPath), nil),
            (.tcp(host: "127.0.0.1", port: server.port), "default"),
        ]
        for place in places {
            var configuration = RedisConfiguration(endpoint: place.endpoint)
            configuration.username = place.username
            configuration.password = "p w"
            configuration.database = 3
            configuration.connectTimeout = .seconds(20)
            let bench = try ConnectionBench(configuration)
            try bench.open()
            let reply = try bench.outcome("CLIENT", "INFO")
            guard case .reply(.bulk(let line)) = reply else {
                Issue.record("CLIENT INFO: \(String(describing: reply))")
                continue
            }
            #expect(String(decoding: line, as: UTF8.self).contains(" db=3 "))
            bench.connection?.close()
        }
    }

    @Test("says why it was refused, and goes on trying")
    func wrongPassword() throws {
        let server = try RedisServer(["--requirepass", "right"])
        var configuration = configuration(server)
        configuration.password = "wrong"
        let bench = try ConnectionBench(configuration)
        bench.connection?.open()
        try bench.run { bench.failures.count >= 3 }
        for failure in bench.failures {
            guard case .handshakeRefused(let reason) = failure else {
                Issue.record("\(failure)")
                continue
            }
            #expect(reason.hasPrefix("AUTH: WRONGPASS") && !reason.contains("wrong "))
        }
        #expect(bench.readyCount == 0)
        #expect(try bench.outcome("PING") == .unavailable)
    }

    @Test("names what it cannot reach")
    func unreachable() throws {
        var closed = RedisConfiguration(endpoint: .tcp(host: "127.0.0.1", port: FreePort.find()))
        closed.backOff.longest = .milliseconds(60)
        let missing = RedisConfiguration(endpoint: .unix(path: "/nonexistent/redis.sock"))
        let nameless = RedisConfiguration(endpoint: .tcp(host: "no.such.name.invalid", port: 1))
        for configuration in [closed, missing, nameless] {
            let bench = try ConnectionBench(configuration)
            bench.connection?.open()
            try bench.run { !bench.failures.isEmpty }
            guard case .unreachable = bench.failures.first else {
                Issue.record("\(bench.failures)")
                continue
            }
            bench.connection?.close()
        }
    }

    @Test("comes back by itself after its server was killed")
    func restart() throws {
        let server = try RedisServer()
        let bench = try ConnectionBench(configuration(server))
        try bench.open()
        try server.kill()
        try bench.run { !bench.failures.isEmpty }
        #expect(try bench.outcome("PING") == .unavailable)
        try server.start()
        try bench.run { bench.readyCount == 2 }
        #expect(try bench.outcome("PING") == .reply(.simpleString("PONG")))
    }

    @Test("gives up on a silent server, and no late reply is taken for another's")
    func timeout() throws {
        let server = try RedisServer()
        var configuration = configuration(server)
        configuration.commandTimeout = .seconds(1)
        let bench = try ConnectionBench(configuration)
        try bench.open()
        server.stop()
        let first = try bench.outcomes([RedisCommand("ECHO", "a"), RedisCommand("ECHO", "b")])
        #expect(first == [.unknown, .unknown])
        #expect(bench.failures == [.commandTimedOut])
        server.resume()
        try bench.run { bench.readyCount == 2 }
        #expect(try bench.outcome("ECHO", "c") == .reply(.bulk(Array("c".utf8))))
    }

    @Test("hears the end of a handshake that never comes")
    func silentHandshake() throws {
        let server = try ScriptedRedisServer { _, _ in .nothing }
        var configuration = configuration(server)
        configuration.connectTimeout = .milliseconds(50)
        let bench = try ConnectionBench(configuration)
        bench.handshake = { $0 == nil ? .send(RedisCommand("PING")) : .finished }
        bench.connection?.open()
        try bench.run { bench.failures.count == 2 }
        #expect(bench.failures == [.connectTimedOut, .connectTimedOut])
    }

    @Test("serves nobody until the owner's handshake is finished")
    func handshake() throws {
        let server = try RedisServer()
        let bench = try ConnectionBench(configuration(server))
        var seen: [RedisReply?] = []
        bench.handshake = { reply in
            seen.append(reply)
            switch seen.count {
            case 1: return .send(RedisCommand("ECHO", "x"))
            case 2: return .refused("not today")
            default: return .finished
            }
        }
        bench.connection?.open()
        try bench.run { bench.readyCount == 1 }
        #expect(seen == [nil, .bulk([0x78]), nil])
        #expect(bench.failures == [.handshakeRefused("not today")])
    }

    @Test("answers what was sent before it retires")
    func retire() throws {
        let server = try RedisServer()
        let bench = try ConnectionBench(configuration(server))
        try bench.open()
        var outcomes: [RedisOutcome] = []
        bench.connection?.send(RedisCommand("ECHO", "x")) { outcomes.append($0) }
        bench.connection?.retire(because: .refusedByServer("READONLY"))
        bench.connection?.send(RedisCommand("ECHO", "y")) { outcomes.append($0) }
        #expect(outcomes == [.unavailable])
        try bench.run { bench.readyCount == 2 }
        #expect(outcomes == [.unavailable, .reply(.bulk([0x78]))])
    }

    @Test("settles everything when it is closed, also from inside a reply")
    func close() throws {
        let server = try RedisServer()
        let bench = try ConnectionBench(configuration(server))
        try bench.open()
        var outcomes: [RedisOutcome] = []
        bench.connection?.send(RedisCommand("PING")) { outcome in
            outcomes.append(outcome)
            bench.connection?.close()
        }
        bench.connection?.send(RedisCommand("PING")) { outcomes.append($0) }
        try bench.run { outcomes.count == 2 }
        #expect(outcomes == [.reply(.simpleString("PONG")), .unknown])
        bench.connection?.send(RedisCommand("PING")) { outcomes.append($0) }
        #expect(outcomes.last == .unavailable)
        bench.connection?.open()
        #expect(bench.connection?.isReady == false)
    }

    @Test("settles everything when it is let go")
    func release() throws {
        let server = try RedisServer()
        var bench: ConnectionBench? = try ConnectionBench(configuration(server))
        try bench?.open()
        var outcomes: [RedisOutcome] = []
        bench?.connection?.send(RedisCommand("PING")) { outcomes.append($0) }
        bench = nil
        #expect(outcomes == [.unavailable])
    }

    @Test(
        "drops a server that talks nonsense, and settles what it had asked",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n\r\n", "$-99999999999999\r\n", ":twelve\r\n", "\0\0\0\0",
            "*1000000000\r\n", "+PONG\r\n+PONG\r\n+PONG\r\n+EXTRA\r\n",
            "$1000000\r\n" + String(repeating: "x", count: 100_000),
        ])
    func nonsense(answer: String) throws {
        let server = try ScriptedRedisServer { words, connection in
            if connection > 0 { return .bytes("+PONG\r\n") }
            return words == ["PING", "last"] ? .bytes(answer) : .nothing
        }
        let bench = try ConnectionBench(configuration(server))
        try bench.open()
        let outcomes = try bench.outcomes([
            RedisCommand("PING"), RedisCommand("PING"), RedisCommand("PING", "last"),
        ])
        let isExtra = answer.contains("EXTRA")
        let pong = RedisOutcome.reply(.simpleString("PONG"))
        #expect(outcomes == (isExtra ? [pong, pong, pong] : [.unknown, .unknown, .unknown]))
        try bench.run { bench.readyCount == 2 }
        guard case .protocolViolation = bench.failures.first else {
            Issue.record("\(bench.failures)")
            return
        }
        #expect(try bench.outcome("PING") == pong)
    }

    @Test("knows nothing of a command whose reply was cut", arguments: ["", "$5\r\nhal", "+PON"])
    func cutReply(answer: String) throws {
        let server = try ScriptedRedisServer { _, connection in
            connection > 0 ? .bytes("+PONG\r\n") : .last(answer)
        }
        let bench = try ConnectionBench(configuration(server))
        try bench.open()
        #expect(try bench.outcome("PING") == .unknown)
        try bench.run { bench.readyCount == 2 }
        #expect(try bench.outcome("PING") == .reply(.simpleString("PONG")))
    }
}
