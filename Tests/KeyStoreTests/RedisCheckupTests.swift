import Bytes
import EventLoop
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

@Suite(
    "A check-up of a Redis", .enabled(if: RedisServer.isInstalled),
    .timeLimit(.minutes(30)))
struct RedisCheckupTests {}

extension RedisCheckupTests {
    private static let recordName = "sallyport:incarnation"
    /// What `docs/operations/stores.md` grants.
    private static let rights = [
        "+eval", "+evalsha", "+script|load", "+info", "+get", "+mget", "+set", "+del", "+select",
        "+client|setname", "+time",
    ]

    private func steps(
        _ server: RedisServer, _ configure: (inout RedisConfiguration) -> Void = { _ in }
    ) -> [RedisCheckupStep] {
        var configuration = RedisCounterBench.configuration(port: server.port)
        configure(&configuration.connection)
        return steps(configuration)
    }

    private func steps(_ configuration: RedisCounterConfiguration) -> [RedisCheckupStep] {
        let collected = Collected()
        RedisCheckup.run(configuration) { collected.steps.append($0) }
        return collected.steps
    }

    private final class Collected {
        var steps: [RedisCheckupStep] = []
    }

    /// What is not in order, as `step: text`.
    private func findings(
        _ steps: [RedisCheckupStep], _ verdict: RedisCheckupStep.Verdict
    ) -> [String] {
        steps.filter { $0.verdict == verdict }.map { "\($0.name): \($0.text)" }
    }

    @Test("finds everything in order, and leaves nothing behind")
    func healthy() throws {
        let server = try RedisServer()
        let found = steps(server)
        #expect(
            found.map(\.name) == [
                "connection", "login", "database", "server", "eviction", "persistence",
                "replicas", "incarnation", "script loading", "writing", "incarnation script",
                "counter script", "clean-up",
            ])
        #expect(found.allSatisfy { $0.verdict == .ok }, "\(found)")
        #expect(found[7].text.hasPrefix("none yet"))
        #expect(try server.command("DBSIZE") == "0")
    }

    @Test("does not touch the incarnation and the counters of gateways")
    func live() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
        let record = try server.command("GET", Self.recordName)
        let nameCount = try server.command("DBSIZE")
        let found = steps(server)
        #expect(found.allSatisfy { $0.verdict == .ok }, "\(found)")
        let incarnation = try #require(found.first { $0.name == "incarnation" })
        #expect(incarnation.text == "\(record.prefix(16)), of this server")
        #expect(try server.command("GET", Self.recordName) == record)
        #expect(try server.command("DBSIZE") == nameCount)
        #expect(try bench.verdict(bench.request(counter: 2, challenge: 2)) == .accepted)
    }

    @Test(
        "reads a record of another life of the server, and does not replace it",
        arguments: ["0123456789abcdef 00 11", "garbage", ""])
    func oldRecord(record: String) throws {
        let server = try RedisServer()
        try server.command("SET", Self.recordName, record)
        let found = steps(server)
        #expect(found.allSatisfy { $0.verdict == .ok }, "\(found)")
        #expect(found.contains { $0.name == "incarnation" && $0.text.contains("earlier life") })
        #expect(try server.command("GET", Self.recordName) == record)
    }

    @Test("finds a user with the documented rights in order, in another database too")
    func documentedRights() throws {
        let server = try RedisServer()
        try grant(server, Self.rights)
        let found = steps(server) {
            $0.username = "gateway"
            $0.password = "secret"
            $0.database = 3
        }
        #expect(found.allSatisfy { $0.verdict == .ok }, "\(found)")
        #expect(found[1].text == "as gateway")
        #expect(found[2].text == "3")
    }

    @Test(
        "names the right that a user lacks",
        arguments: [
            ("+evalsha", "counter script: EVALSHA: NOPERM"),
            ("+mget", "counter script: EVALSHA: NOPERM"), ("+get", "incarnation: GET: NOPERM"),
            ("+time", "incarnation script: EVAL: NOPERM"),
            ("+eval", "incarnation script: EVAL: NOPERM"), ("+set", "writing: SET: NOPERM"),
            ("+script|load", "script loading: SCRIPT LOAD: NOPERM"),
            ("+info", "server: INFO server: NOPERM"), ("+select", "database: SELECT: NOPERM"),
        ])
    func missingRight(right: String, expected: String) throws {
        let server = try RedisServer()
        try grant(server, Self.rights.filter { $0 != right })
        let found = steps(server) {
            $0.username = "gateway"
            $0.password = "secret"
            $0.database = 1
        }
        let failures = findings(found, .failure)
        #expect(failures.first?.hasPrefix(expected) == true, "\(failures)")
        // Both scripts need GET as well; the second is not tried without the first.
        #expect(failures.count == (right == "+get" ? 2 : 1), "\(failures)")
        #expect(try server.command("DBSIZE") == "0")
    }

    @Test("does without the rights that gateways do without")
    func dispensableRights() throws {
        let server = try RedisServer()
        try grant(server, Self.rights.filter { $0 != "+del" && $0 != "+client|setname" })
        let found = steps(server) {
            $0.username = "gateway"
            $0.password = "secret"
        }
        #expect(findings(found, .failure).isEmpty)
        #expect(findings(found, .warning).first?.hasPrefix("clean-up: DEL: NOPERM") == true)
        for name in try server.command("KEYS", "sallyport:doctor:*").split(separator: "\n") {
            #expect(try server.command("TTL", String(name)) != "-1")
        }
    }

    @Test("names rights with which gateways spend tokens and see that they are spent")
    func rightsForTokens() throws {
        let server = try RedisServer()
        try grant(server, Self.rights)
        var configuration = RedisCounterBench.configuration(port: server.port)
        configuration.connection.username = "gateway"
        configuration.connection.password = "secret"
        let bench = try RedisCounterBench(configuration)
        try bench.connect()
        let token = Bytes16(word0: 1, word1: 2)
        func isSpent() throws -> Bool? {
            var answer: Bool?
            bench.worker.isTokenSpent(token, forMilliseconds: 1000) { [loop = bench.loop] in
                answer = $0
                loop.stop()
            }
            try bench.run { answer != nil }
            return answer
        }
        #expect(try isSpent() == false)
        var verdict: CounterVerdict?
        bench.worker.spendToken(token, forMilliseconds: 60_000) { [loop = bench.loop] in
            verdict = $0
            loop.stop()
        }
        try bench.run { verdict != nil }
        #expect(verdict == .accepted)
        #expect(try isSpent() == true)
    }

    @Test("tells of other names than the user's")
    func missingNames() throws {
        let server = try RedisServer()
        try server.command("ACL", "SETUSER", "gateway", "on", ">secret", "~other:*", "+@all")
        let found = steps(server) {
            $0.username = "gateway"
            $0.password = "secret"
        }
        let failures = findings(found, .failure)
        #expect(failures.count == 2)
        #expect(failures.allSatisfy { $0.contains("NOPERM") }, "\(failures)")
    }

    @Test("warns of eviction, and fails where the gateway would refuse the server")
    func eviction() throws {
        let server = try RedisServer(["--maxmemory-policy", "allkeys-lru"])
        let unbounded = steps(server)
        #expect(findings(unbounded, .failure).isEmpty)
        #expect(findings(unbounded, .warning).first?.contains("allkeys-lru") == true)
        try server.command("CONFIG", "SET", "maxmemory", "100mb")
        let failures = findings(steps(server), .failure)
        #expect(failures.first?.hasPrefix("eviction: maxmemory-policy allkeys-lru") == true)
        #expect(failures.last?.contains("EVICTION") == true)
        try server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        #expect(steps(server).allSatisfy { $0.verdict == .ok })
    }

    @Test("tells of a login that does not do, and of one that is missing")
    func login() throws {
        let server = try RedisServer(["--requirepass", "secret"])
        #expect(steps(server) { $0.password = "secret" }.allSatisfy { $0.verdict == .ok })
        let wrong = steps(server) { $0.password = "other" }
        #expect(wrong.map(\.name) == ["connection", "login"])
        #expect(wrong.last?.verdict == .failure)
        #expect(wrong.last?.text.contains("WRONGPASS") == true)
        #expect(findings(steps(server), .failure).first?.contains("NOAUTH") == true)
    }

    @Test("tells of a replica, of a server that is not there, and of one that does not answer")
    func unusable() throws {
        let replica = try RedisServer(["--replicaof", "127.0.0.1", "\(FreePort.find())"])
        #expect(findings(steps(replica), .failure).first?.contains("not a master") == true)
        let nowhere = steps(RedisCounterBench.configuration(port: FreePort.find()))
        #expect(nowhere.map(\.name) == ["connection"])
        #expect(nowhere.first?.text.contains("connection refused") == true)
        let server = try RedisServer()
        server.stop()
        defer { server.resume() }
        let hanging = steps(server) {
            $0.connectTimeout = .seconds(1)
            $0.commandTimeout = .seconds(1)
        }
        #expect(findings(hanging, .failure) == ["server: no answer in time"])
    }

    private func grant(_ server: RedisServer, _ rights: [String]) throws {
        let words = ["ACL SETUSER gateway on >secret resetkeys ~sallyport:* -@all"] + rights
        let answer = try server.command(
            words.joined(separator: " ").split(separator: " ").map(String.init))
        try #require(answer == "OK", "\(answer)")
    }
}
