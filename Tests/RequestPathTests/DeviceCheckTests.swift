import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "Devices without App Attest", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct DeviceCheckTests {
    private let upstream: RecordingUpstream
    private let apple: AppleServer

    init() throws {
        upstream = try RecordingUpstream()
        apple = try AppleServer()
    }
}

extension DeviceCheckTests {
    private func configuration(
        _ attest: String = "mode: enforce, accept: [assertion, device_check]",
        _ deviceCheck: String = "{}"
    ) throws -> GatewayConfiguration {
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: attest)
        configuration.more = [try apple.settings, "device_check: \(deviceCheck)"]
        return configuration
    }

    private func start(
        _ attest: String = "mode: enforce, accept: [assertion, device_check]",
        _ deviceCheck: String = "{}"
    ) throws -> GatewayProcess {
        try GatewayProcess(try configuration(attest, deviceCheck))
    }

    private func token(
        _ device: String = "phone", environment: AttestEnvironment = .production
    ) throws -> String {
        try #require(try apple.deviceTokens(device: device, environment: environment).first)
    }

    private func request(_ gateway: GatewayProcess, _ token: String?) throws -> HTTPMessage {
        let fields = token.map { [("X-Device-Check-Token", $0)] } ?? []
        return try gateway.connect().exchange("GET", "/api/x", fields: fields)
    }

    private func detail(_ gateway: GatewayProcess, _ answer: HTTPMessage) throws -> String? {
        let id = try #require(answer["X-Request-Id"])
        return try gateway.accessLine { $0["request_id"]?.stringValue == id }["detail"]?
            .stringValue
    }

    // MARK: one token, one request

    @Test("pass with a token that Apple knows, once, and are told apart upstream")
    func once() throws {
        let gateway = try start()
        let token = try token()
        #expect(try request(gateway, token).outcome == "200")
        let seen = try #require(upstream.requests.last)
        #expect(seen["X-Attest-Result"] == "verified")
        #expect(seen["X-Attest-Tier"] == "device_check")
        #expect(seen["X-Attest-Environment"] == "production")
        #expect(seen["X-Attest-Key"] == nil && seen["X-Attest-App"] == nil)
        #expect(seen["X-Device-Check-Token"] == nil)
        let asked = try apple.requests.count
        let again = try request(gateway, token)
        #expect(again.outcome == "401 device_token_invalid")
        #expect(try detail(gateway, again) == "device_token_spent")
        // Its other spelling is the same token.
        let url = String(token.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }.filter { $0 != "=" })
        #expect(try request(gateway, url).outcome == "401 device_token_invalid")
        // Nobody can use up what Apple may be asked with a token that is spent.
        #expect(try apple.requests.count == asked)
        #expect(try request(gateway, try self.token()).outcome == "200")
        #expect(upstream.requests.count == 2)
        let log = gateway.current.text(on: .standardOutput)
        #expect(!log.contains(token))
        let sample =
            "sallyport_apple_requests_total{service=\"validate_device_token\","
            + "environment=\"production\",outcome=\"ok\"}"
        #expect(try gateway.metric(sample) ?? 0 >= 2)
    }

    @Test("pass once with a token that comes many times at the same moment")
    func race() throws {
        var configuration = try configuration()
        configuration.workers = 2
        let gateway = try GatewayProcess(configuration)
        let token = try token()
        let clients = try (0..<8).map { _ in try gateway.connect() }
        for client in clients {
            try client.send("GET", "/api/x", fields: [("X-Device-Check-Token", token)])
        }
        let outcomes = try clients.map { try $0.receive().outcome }
        #expect(outcomes.filter { $0 == "200" }.count == 1)
        #expect(outcomes.filter { $0 == "401 device_token_invalid" }.count == 7)
        #expect(upstream.requests.count == 1)
    }

    @Test("do not pass again with an old token after a restart in good order")
    func restart() throws {
        let gateway = try start()
        let token = try token()
        #expect(try request(gateway, token).outcome == "200")
        #expect(try gateway.terminate() == .exited(0))
        try gateway.start()
        #expect(try detail(gateway, try request(gateway, token)) == "device_token_spent")
    }

    @Test(
        "do not pass again at another gateway of the same Redis",
        .enabled(if: RedisServer.isInstalled))
    func redis() throws {
        let redis = try RedisServer()
        let gateways = try (0..<2).map { _ in
            var configuration = try configuration()
            configuration.counters = redis.counters
            let gateway = try GatewayProcess(configuration)
            try gateway.waitForReadiness(200)
            return gateway
        }
        let token = try token()
        #expect(try request(gateways[0], token).outcome == "200")
        let asked = try apple.requests.count
        #expect(try detail(gateways[1], try request(gateways[1], token)) == "device_token_spent")
        #expect(try apple.requests.count == asked)
        #expect(try request(gateways[1], try self.token()).outcome == "200")
    }

    @Test(
        "do not pass again at another gateway of a Redis Cluster, nor where a slot has moved",
        .enabled(if: RedisServer.isInstalled))
    func redisCluster() throws {
        let cluster = try RedisCluster(replicasPerMaster: 0)
        let gateways = try (0..<2).map { _ in
            var configuration = try configuration()
            let addresses = cluster.addresses.map { "\"\($0)\"" }.joined(separator: ", ")
            configuration.counters =
                "{ redis: { cluster: { addresses: [\(addresses)] }, command_timeout: 5s } }"
            configuration.workers = 1
            let gateway = try GatewayProcess(configuration)
            try gateway.waitForReadiness(200)
            return gateway
        }
        func marks(_ server: RedisServer) throws -> [String] {
            try server.command("KEYS", "*:token").split(separator: "\n").map(String.init)
        }
        var accepted: [String] = []
        // Until every master has one; tokens are random.
        while try accepted.count < 100 && cluster.servers.contains(where: { try marks($0).isEmpty })
        {
            let token = try token()
            #expect(try request(gateways[accepted.count % 2], token).outcome == "200")
            accepted.append(token)
        }
        let before = try cluster.servers.map { try marks($0).count }
        #expect(before.allSatisfy { $0 > 0 } && before.reduce(0, +) == accepted.count)
        /// How many were refused for lack of an answer first.
        func expectSpent() throws -> Int {
            var unjudgedCount = 0
            for token in accepted {
                for gateway in gateways {
                    var answer = try request(gateway, token)
                    if answer.outcome == "503 store_unavailable" {
                        unjudgedCount += 1
                        answer = try request(gateway, token)
                    }
                    #expect(answer.outcome == "401 device_token_invalid")
                    #expect(try detail(gateway, answer) == "device_token_spent")
                }
            }
            return unjudgedCount
        }
        #expect(try expectSpent() == 0)
        let mark = try #require(try marks(cluster.servers[0]).first)
        let slot = try #require(Int(try cluster.servers[0].command("CLUSTER", "KEYSLOT", mark)))
        try cluster.move(slot: slot, from: cluster.servers[0], to: cluster.servers[1])
        // Each gateway finds out once that another master keeps the slot, under its incarnation.
        #expect(try expectSpent() <= 2)
        #expect(try request(gateways[0], try self.token()).outcome == "200")
        #expect(upstream.requests.count == accepted.count + 1)
    }

    // MARK: what is refused

    @Test("are refused without a token, and with one that is none")
    func refusals() throws {
        let gateway = try start()
        #expect(try request(gateway, nil).outcome == "401 assertion_required")
        for (token, detail) in [
            ("AAAA", "device_token_bad"), ("no base64!", "device_token_malformed"),
            (String(repeating: "A", count: 8196), "device_token_malformed"),
            (try token(environment: .development), "device_token_bad"),
        ] {
            let answer = try request(gateway, token)
            #expect(answer.outcome == "401 device_token_invalid")
            #expect(try self.detail(gateway, answer) == detail)
        }
        let twice = try gateway.connect().exchange(
            "GET", "/api/x",
            fields: [("X-Device-Check-Token", "AAAA"), ("x-device-check-token", "AAAA")])
        #expect(try detail(gateway, twice) == "device_token_repeated")
        #expect(upstream.requests.isEmpty)
        // A route that does not take them does not look.
        let other = try start("mode: enforce")
        let unasked = try apple.requests.count
        #expect(try request(other, try token()).outcome == "401 assertion_required")
        #expect(try apple.requests.count == unasked)
    }

    @Test("are less than a route wants where it says so, and observed where it only looks")
    func tiers() throws {
        let strict = try start(
            "mode: enforce, accept: [assertion, device_check], min_tier: attested")
        let token = try token()
        #expect(try request(strict, token).outcome == "401 assertion_required")
        let observing = try start("mode: observe, accept: [device_check]")
        #expect(try request(observing, "AAAA").outcome == "200")
        #expect(upstream.requests.last?["X-Attest-Tier"] == "none")
        // The strict route has not used it up.
        #expect(try request(observing, token).outcome == "200")
        #expect(upstream.requests.last?["X-Attest-Tier"] == "device_check")
        #expect(try request(observing, token).outcome == "200")
        #expect(upstream.requests.last?["X-Attest-Tier"] == "none")
    }

    @Test("of both environments pass where both are named")
    func environments() throws {
        let gateway = try start(
            "mode: enforce, accept: [device_check]",
            "{ environments: [production, development] }")
        #expect(try request(gateway, try token(environment: .development)).outcome == "200")
        #expect(upstream.requests.last?["X-Attest-Environment"] == "development")
        #expect(try request(gateway, try token()).outcome == "200")
        #expect(try request(gateway, "AAAA").outcome == "401 device_token_invalid")
        #expect(try request(gateway, nil).outcome == "401 device_token_invalid")
        let narrow = try start(
            "mode: enforce, accept: [device_check], environments: [production]",
            "{ environments: [production, development] }")
        #expect(
            try request(narrow, try token(environment: .development)).outcome
                == "403 distribution_not_allowed")
    }

    // MARK: when Apple does not answer

    @Test(
        "are not judged while Apple fails, and pass only where the route says so",
        arguments: [
            (500, StandInReply.Conduct.whole, "server_error"), (401, .whole, "unauthorized"),
            (0, .close, "unreachable"), (0, .garbage, "unreachable"),
        ])
    func failures(status: Int, conduct: StandInReply.Conduct, label: String) throws {
        let gateway = try start()
        try apple.fail(status: status == 0 ? nil : status, conduct: conduct, count: 0)
        let token = try token()
        let answer = try request(gateway, token)
        #expect(answer.outcome == "503 store_unavailable")
        #expect(try detail(gateway, answer) == "device_check_" + label)
        let open = try start(
            "mode: enforce, accept: [device_check], on_store_failure: pass")
        #expect(try request(open, token).outcome == "200")
        #expect(upstream.requests.last?["X-Attest-Result"] == "unverified")
        try apple.clearFaults()
        // Nothing was spent.
        #expect(try request(gateway, token).outcome == "200")
    }

    @Test("do not make the gateway ask faster, nor more at once, than it may: nothing passes")
    func bounds() throws {
        let lax = "mode: enforce, accept: [device_check], on_store_failure: pass"
        let slow = try start(lax, "{ rate: 1/h }")
        #expect(try request(slow, try token()).outcome == "200")
        for _ in 0..<3 {
            let refused = try request(slow, "AAAA")
            #expect(refused.outcome == "429 rate_limited" && refused["Retry-After"] != nil)
            #expect(try detail(slow, refused) == "device_check_rate")
        }
        let narrow = try start(lax, "{ in_flight_max: 1 }")
        try apple.fail(conduct: .silent)
        let waiting = try narrow.connect()
        let count = try apple.requests.count
        try waiting.send("GET", "/api/x", fields: [("X-Device-Check-Token", try token())])
        try waitWhile(apple.requests.count == count)
        let busy = try request(narrow, try token())
        #expect(busy.outcome == "503 gateway_busy")
        #expect(try detail(narrow, busy) == "device_check_busy")
        #expect(upstream.requests.count == 1)
    }

    @Test("are not let pass where Apple throttles the gateway, for anybody can bring that about")
    func throttled() throws {
        let gateway = try start("mode: enforce, accept: [device_check], on_store_failure: pass")
        try apple.fail(status: 429, count: 0)
        let answer = try request(gateway, try token())
        #expect(answer.outcome == "503 gateway_busy")
        #expect(try detail(gateway, answer) == "device_check_throttled")
        #expect(upstream.requests.isEmpty)
    }

    @Test(
        "are not let pass where Apple takes no such question, for strangers choose what is in it",
        arguments: [(400, "bad_request"), (418, "unexpected")])
    func unfitQuestion(status: Int, label: String) throws {
        let gateway = try start("mode: enforce, accept: [device_check], on_store_failure: pass")
        try apple.fail(status: status, count: 0)
        let answer = try request(gateway, try token())
        #expect(answer.outcome == "503 gateway_busy")
        #expect(try detail(gateway, answer) == "device_check_" + label)
        #expect(upstream.requests.isEmpty)
    }

    @Test("a configuration that takes their tokens says whom to ask")
    func configurationErrors() throws {
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: "mode: enforce, accept: [device_check]")
        configuration.more = []
        let directory = try ScratchDirectory()
        let path = try directory.write(
            configuration.text(port: 1, adminPort: 2, directory: directory.path), to: "c.yaml")
        let outcome = try BuiltProgram.run(["check", "-c", path])
        #expect(outcome.status == .exited(78))
        #expect(
            (outcome.standardOutput + outcome.standardError).contains(
                "without which Apple cannot be asked"))
    }
}
