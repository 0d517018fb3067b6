import AppAttestTesting
import GatewayTesting
import JSON
import Testing

@Suite("What a route demands", .enabled(if: BuiltProgram.isBuilt))
struct RoutePolicyTests {
    private let upstream: RecordingUpstream

    init() throws { upstream = try RecordingUpstream() }
}

extension RoutePolicyTests {
    private func start(_ attest: String, more: [String] = []) throws -> (
        GatewayProcess, SimulatedClient
    ) {
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: attest)
        configuration.more = more
        let gateway = try GatewayProcess(configuration)
        let client = try SimulatedClient.enrolled(gateway)
        return (gateway, client)
    }

    @Test("body shape: the body is what was signed, the challenge a member of it")
    func bodyShape() throws {
        let (_, client) = try start(
            "mode: enforce, client_data: body, challenge_member: nonce, key_id_member: kid",
            more: ["headers: { assertion: X-App-Assertion, key_id: X-Key-Id }"])
        let challenge = try client.challenge()
        let body = Array(#"{"nonce":"\#(challenge)","amount":10}"#.utf8)
        let signed = try client.device.sign(body: body, names: .older)
        let fields = signed.headers.map { ($0.name, $0.value) }
        let changed = try client.raw.exchange(
            "POST", "/api/x", fields: fields, body: Array(#"{"nonce":"\#(challenge)"}"#.utf8))
        #expect([401].contains(changed.status))
        let passed = try client.raw.exchange("POST", "/api/x", fields: fields, body: body)
        #expect(passed.status == 200)
        let seen = try #require(upstream.requests.first)
        #expect(seen["X-App-Assertion"] == nil)
        #expect(seen["X-Key-Id"] == nil)
        #expect(seen.body == body)
        let again = try client.raw.exchange("POST", "/api/x", fields: fields, body: body)
        #expect(again.outcome == "401 assertion_replayed")
        let without = Array(#"{"amount":10}"#.utf8)
        let unchallenged = try client.device.sign(body: without, names: .older)
        let refused = try client.raw.exchange(
            "POST", "/api/x", fields: unchallenged.headers.map { ($0.name, $0.value) },
            body: without)
        #expect(refused.outcome == "401 challenge_required")
        #expect(refused.action == "fetch_challenge")
    }

    @Test("no challenge: the registry keeps the counter, also through kill -9")
    func durable() throws {
        let (gateway, client) = try start(
            "mode: enforce, client_data: body, challenge: off, replay: durable")
        let body = Array("anything at all".utf8)
        let fields = try client.device.sign(body: body).headers.map { ($0.name, $0.value) }
        #expect(try client.raw.exchange("POST", "/api/x", fields: fields, body: body).status == 200)
        try gateway.restart(byKill: true)
        try client.connect()
        let again = try client.raw.exchange("POST", "/api/x", fields: fields, body: body)
        #expect(again.outcome == "401 assertion_replayed")
        let next = try client.device.sign(body: body).headers.map { ($0.name, $0.value) }
        #expect(try client.raw.exchange("POST", "/api/x", fields: next, body: body).status == 200)
    }

    @Test("observe: verifies, notes, and forwards whatever the verdict")
    func observe() throws {
        let (gateway, client) = try start("mode: observe")
        #expect(try client.raw.exchange("GET", "/api/x").status == 200)
        #expect(try client.request("GET", "/api/x", fault: .otherKey).status == 200)
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(
            upstream.requests.map { $0["X-Attest-Result"] }
                == ["unverified", "unverified", "verified"])
        #expect(upstream.requests.map { $0["X-Attest-Key"] != nil } == [false, false, true])
        let required = try gateway.accessLine {
            $0["reason"]?.stringValue == "assertion_required"
        }
        #expect(required["decision"]?.stringValue == "observed")
        let invalid = try gateway.accessLine { $0["reason"]?.stringValue == "assertion_invalid" }
        #expect(invalid["decision"]?.stringValue == "observed")
    }

    @Test("off: looks at nothing, and still lets no one speak for the gateway")
    func off() throws {
        let (_, client) = try start("mode: off")
        let spoofed = [
            ("X-Attest-Result", "verified"), ("x-attest-key", "mine"), ("X_Attest_Key", "mine"),
            ("X-APP_ATTEST-anything", "x"), ("X-App-Attest-Assertion", "x"), ("X-Other", "stays"),
        ]
        #expect(try client.raw.exchange("GET", "/api/x", fields: spoofed).status == 200)
        let names = try #require(upstream.requests.first).message.fields.map {
            $0.name.lowercased().replacing("_", with: "-")
        }
        #expect(!names.contains { $0.hasPrefix("x-attest-") || $0.hasPrefix("x-app-attest-") })
        #expect(names.contains("x-other"))
    }

    @Test("a rollout of 0% observes everybody, 100% nobody")
    func rollout() throws {
        let (_, none) = try start("mode: enforce, rollout: 0%")
        #expect(try none.request("GET", "/api/x", fault: .otherKey).status == 200)
        let (_, all) = try start("mode: enforce, rollout: 100%")
        #expect(try all.request("GET", "/api/x", fault: .otherKey).status == 401)
    }

    @Test("a window takes requests out of order, and none twice")
    func window() throws {
        let (_, client) = try start("mode: enforce, replay: { window: 4 }")
        let signed = try (0..<6).map { _ in try client.signature("GET", "/api/x") }
        func send(_ index: Int) throws -> String {
            try client.raw.exchange("GET", "/api/x", fields: signed[index]).outcome
        }
        #expect(try [3, 1, 2, 5].map(send) == ["200", "200", "200", "200"])
        let used = "401 assertion_replayed"
        #expect(try [3, 1, 0].map(send) == [used, used, used])
        #expect(try [4, 4].map(send) == ["200", used])
    }

    @Test("strict refuses what comes late")
    func strict() throws {
        let (_, client) = try start("mode: enforce, replay: strict")
        let early = try client.signature("GET", "/api/x")
        #expect(try client.request("GET", "/api/x").status == 200)
        let late = try client.raw.exchange("GET", "/api/x", fields: early)
        #expect(late.outcome == "401 assertion_replayed")
    }
}
