import AppAttestTesting
import Attestation
import Background
import Bytes
import EventLoop
import GatewayTesting
import JSON
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Log and metrics")
struct RecordTests {}

extension RecordTests {
    private func members(_ line: String) throws -> [String: JSONValue] {
        let value = try JSONValue.parse(Array(line.utf8).span, byteCountMax: 1 << 16, depthMax: 4)
        guard case .object(let members) = value else { return [:] }
        return members
    }

    @Test("each exchange has one line, which is JSON and tells no secret")
    func lines() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway, isKnown: false)
        let token = try device.fetchChallenge("/attest/challenge")
        #expect(try device.attest(challenge: token).status == 200)
        let used = try device.nextChallenge()
        let fields = try device.signedFields("POST", "/attested/x", body: Array("{}".utf8))
        let answer = try device.send(
            "POST", "/attested/x?token=secret", fields: fields, body: Array("{}".utf8))
        #expect(answer.status == 200)
        #expect(try device.send("GET", "/attested/\u{22}\u{5C}").status == 400)
        let broken = try gateway.client()
        try broken.send("GET /half HTTP/1.1\r\nHo")
        broken.socket.shutdownSending()
        #expect(try broken.receiveToEnd().isEmpty)
        let lines = try gateway.logLines()
        let records = try lines.map { try members($0) }
        #expect(
            records.map { $0["reason"] } == [
                .string("ok"), .string("ok"), .string("ok"), .string("bad_request"),
                .string("client_closed"),
            ])
        #expect(records.last?["status"] == .integer(499))
        let verified = try #require(records.first { $0["decision"] == .string("verified") })
        #expect(verified["method"] == .string("POST"))
        #expect(verified["path"] == .string("/attested/x"))
        #expect(verified["route"] == .string("attested"))
        #expect(verified["status"] == .integer(200))
        #expect(verified["bytes_in"] == .integer(2))
        #expect(verified["bytes_out"] == .integer(6))
        #expect(verified["client"] == .string("127.0.0.1"))
        #expect(verified["upstream"] == .string("127.0.0.1:\(gateway.upstream.port)"))
        let pseudonyms = try #require(Pseudonyms(secrets: [GatewayUnderTest.challengeKey]))
        let keyID = device.device.keyID
        #expect(verified["key"] == .string("\(pseudonyms.pseudonym(of: keyID))"))
        let ids = Set(records.compactMap { $0["request_id"] })
        #expect(ids.count == records.count)
        let text = lines.joined()
        let prefix = String(keyID.base64.prefix(8))
        for secret in [token, used, "secret", prefix] + fields.map(\.1) {
            #expect(!text.contains(secret))
        }
    }

    @Test("of an answer without a body no bytes are counted, whoever gives it")
    func bodiless() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        let client = try gateway.client()
        #expect(try client.exchange("HEAD", "/attested/x").status == 401)
        #expect(try client.exchange("HEAD", "/livez").status > 0)
        #expect(try device.send("GET", "/attested/x").status == 401)
        let records = try gateway.logLines().map { try members($0) }
        let counts = records.suffix(3).map { $0["bytes_out"]?.integerValue ?? -1 }
        #expect(counts.prefix(2) == [0, 0] && counts[2] > 100, "\(counts)")
    }

    @Test("a key is logged as the operator wants: by its pseudonym, its beginning, or not")
    func keyNames() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        for naming in LogSettings.KeyNaming.allCases {
            try gateway.reload { $0.log.keys = naming }
            let answer = try device.request("GET", "/attested/\(naming.rawValue)")
            #expect(answer.status == 200)
        }
        let records = try gateway.logLines().map { try members($0) }
        func name(_ naming: LogSettings.KeyNaming) -> String? {
            let record = records.first { $0["path"] == .string("/attested/\(naming.rawValue)") }
            #expect(record != nil)
            return record?["key"]?.stringValue
        }
        #expect(name(.pseudonym).map { Pseudonym($0) != nil } == true)
        #expect(name(.prefix) == String(device.device.keyID.base64.prefix(12)))
        #expect(name(.off) == nil)
    }

    @Test("metrics count by route, decision and reason, and are text that Prometheus reads")
    func metrics() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/x").status == 200)
        #expect(try device.send("GET", "/attested/x").status == 401)
        #expect(try device.send("GET", "/x").status == 200)
        #expect(try device.send("GET", "/..").status == 400)
        let admin = try RawClient(port: gateway.adminPort, host: "127.0.0.1")
        let page = try admin.exchange("GET", "/metrics")
        #expect(page["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
        let lines = page.bodyText.split(separator: "\n").map(String.init)
        let counted = #"sallyport_requests_total{route="#
        for line in [
            counted + #""attested",decision="verified",reason="ok"} 1"#,
            counted + #""attested",decision="refused",reason="assertion_required"} 1"#,
            counted + #""none",decision="refused",reason="bad_request"} 1"#,
            #"sallyport_responses_total{route="attested",class="4xx"} 1"#,
            #"sallyport_request_duration_seconds_count{route="attested"} 2"#,
            #"sallyport_waits_total{phase="verify_assertion"} 1"#,
            "sallyport_trust_extra_roots 1", "sallyport_config_generation 0",
            #"sallyport_store_up{store="registry"} 1"#, "sallyport_floor_keys 1",
        ] { #expect(lines.contains(line), "\(line)") }
        for line in lines where !line.hasPrefix("#") {
            let value = line.split(separator: " ").last.map(String.init) ?? ""
            #expect(Double(value) != nil, "\(line)")
        }
        let families = lines.filter { $0.hasPrefix("# TYPE") }
        #expect(Set(families).count == families.count)
    }

    @Test("what an endpoint waits for is counted as its own phase, not as a route's")
    func waits() throws {
        let gateway = try GatewayUnderTest()
        _ = try EnrolledDevice(gateway, enrols: true)
        let page = try RawClient(port: gateway.adminPort, host: "127.0.0.1").exchange(
            "GET", "/metrics"
        ).bodyText
        let waits = page.split(separator: "\n").filter { $0.hasPrefix("sallyport_waits_total") }
        #expect(waits.contains(#"sallyport_waits_total{phase="answer_locally"} 1"#))
        #expect(!waits.contains { $0.contains("verify_assertion") })
    }

    @Test("the admin listener tells health, and nothing there reaches the upstream")
    func admin() throws {
        let gateway = try GatewayUnderTest { $0.routes[0].name = "<b>&" }
        let admin = try RawClient(port: gateway.adminPort, host: "127.0.0.1")
        #expect(try admin.exchange("GET", "/livez").bodyText == "ok\n")
        #expect(try admin.exchange("GET", "/readyz").bodyText == "ready\n")
        #expect(try admin.exchange("HEAD", "/").status == 200)
        #expect(try admin.exchange("GET", "/attested/x").status == 404)
        #expect(try admin.exchange("GET", "/assert/challenge").status == 404)
        #expect(try gateway.client().exchange("GET", "/attested/x").status == 401)
        let page = try admin.exchange("GET", "/").bodyText
        #expect(page.contains("&lt;b&gt;&amp;"))
        #expect(!page.contains("<b>"))
        gateway.hub.health.registry(isReady: false)
        let unready = try admin.exchange("GET", "/readyz")
        #expect(unready.status == 503)
        #expect(unready.bodyText.contains("registry"))
        gateway.hub.health.drain()
        #expect(try admin.exchange("GET", "/readyz").bodyText == "draining\n")
        // The data listener knows nothing of it.
        #expect(try gateway.client().exchange("GET", "/metrics").bodyText == "hello\n")
        #expect(gateway.upstream.requests.map(\.target) == ["/metrics"])
    }

    @Test("a registry that hangs is down when its time is over, and up when it answers")
    func registryProbe() throws {
        let registry = ScriptedRegistry()
        var log = LogSettings()
        log.access = .off
        log.events = .off
        let hub = Hub(
            registry: registry, counters: .fresh, meters: [], logs: try LogWriters(log))
        let probe = hub.makeRegistryProbe()
        func ask(at seconds: Int64) {
            probe.ask(
                at: MonotonicInstant(nanoseconds: 0) + .seconds(seconds), patience: .seconds(5))
        }
        /// What was asked before has been answered then.
        func waitForAnswers() {
            let answered = Gate()
            registry.probe { _ in answered.open() }
            answered.wait()
        }
        let gate = Gate()
        registry.hold(until: gate)
        ask(at: 1)
        ask(at: 5)
        #expect(hub.health.isRegistryReady)
        ask(at: 6)
        #expect(!hub.health.isRegistryReady)
        gate.open()
        waitForAnswers()
        #expect(hub.health.isRegistryReady)
        registry.fail("down")
        ask(at: 7)
        waitForAnswers()
        #expect(!hub.health.isRegistryReady)
    }

    @Test("problem documents have the members of RFC 9457 and ours")
    func problems() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        let answer = try client.exchange("GET", "/attested/x")
        let members = try members(answer.bodyText)
        #expect(answer["Content-Type"] == "application/problem+json")
        #expect(members["type"] == .string("about:blank"))
        #expect(members["title"] == .string("Unauthorized"))
        #expect(members["status"] == .integer(401))
        #expect(members["code"] == .string("assertion_required"))
        #expect(members["action"] == .string("sign_again"))
        #expect(members["request_id"] == answer["X-Request-Id"].map { .string($0) })
    }
}
