import AppAttestTesting
import Attestation
import Bytes
import Crypto
import GatewayTesting
import GatewayTokens
import KeyStore
import Settings
import Testing

@testable import Gateway

@Suite("Verification")
struct VerificationTests {}

extension VerificationTests {
    private static let body = Array(#"{"amount":1}"#.utf8)

    /// A challenge of the gateway's own making, with what a test wants to be odd about it.
    private func challenge(
        _ gateway: GatewayUnderTest, purpose: ChallengePurpose = .assertion, life: Int64 = 120_000,
        incarnation: Incarnation? = nil, keyID: KeyID? = nil,
        key: [UInt8] = GatewayUnderTest.challengeKey
    ) throws -> String {
        let sealer = try #require(ChallengeSealer(keys: [key]))
        let token = sealer.token(
            of: Challenge(
                purpose: purpose, expiresAt: gateway.now(for: purpose) + life,
                incarnation: incarnation ?? gateway.counters.incarnation,
                id: RandomBytes.bytes16(), keyID: keyID))
        return String(decoding: token, as: UTF8.self)
    }

    private func expectRefused(
        _ answer: HTTPMessage, _ code: String, by gateway: GatewayUnderTest,
        status: Int = 401, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == status, sourceLocation: sourceLocation)
        #expect(answer.code == code, sourceLocation: sourceLocation)
        #expect(answer[challengeField] != nil, sourceLocation: sourceLocation)
        #expect(answer["Cache-Control"] == "no-store", sourceLocation: sourceLocation)
        if status == 401 {
            let expected = "AppAttest error=\"\(code)\""
            #expect(answer["WWW-Authenticate"] == expected, sourceLocation: sourceLocation)
        }
        #expect(gateway.upstream.requests.isEmpty, sourceLocation: sourceLocation)
    }

    @Test("a signed request reaches the upstream with what is known of its key")
    func verified() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway, system: .iOS27)
        let answer = try device.request("POST", "/attested/x", body: Self.body)
        #expect(answer.status == 200)
        let request = try #require(gateway.upstream.requests.first)
        #expect(request.body == Self.body)
        #expect(request["X-Attest-Result"] == "verified")
        #expect(request["X-Attest-Key"] == device.device.keyID.base64)
        #expect(request["X-Attest-App"] == GatewayUnderTest.appID)
        #expect(request["X-Attest-Environment"] == "production")
        #expect(request["X-Attest-Tier"] == "attested")
        #expect(request["X-Attest-Version"] == "1")
        #expect(request["X-Attest-Category"] == "4")
        #expect(!request.message.fields.contains { $0.name.lowercased().contains("app-attest") })
        gateway.stop()
        #expect(gateway.outcomes(of: "attested") == ["verified ok": 1])
    }

    @Test("the risk metric goes along once it is known, and as it is known last")
    func riskMetric() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/a").status == 200)
        for metric: UInt32 in [7, 0, .max - 1] {
            gateway.registry.set(riskMetric: metric, of: device.device.keyID)
            #expect(try device.request("GET", "/attested/b").status == 200)
        }
        #expect(
            gateway.upstream.requests.map { $0["X-Attest-Risk"] }
                == [nil, "7", "0", "4294967294"])
    }

    @Test("each answer brings the challenge for the next request; the key is looked up once")
    func chain() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        for path in ["/attested/a", "/attested/b", "/window/c", "/durable/d"] {
            #expect(try device.request("GET", path).status == 200)
            #expect(device.challenge != nil)
        }
        let finds = gateway.registry.calls.filter { $0 == .find(device.device.keyID) }
        #expect(finds.count == 1)
    }

    @Test("the same request again, and its challenge again, are refused for what they are")
    func replays() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        let token = try device.fetchChallenge()
        let fields = try device.signedFields("GET", "/attested/x", challenge: token)
        #expect(try device.send("GET", "/attested/x", fields: fields).status == 200)
        let replayed = try device.send("GET", "/attested/x", fields: fields)
        #expect(replayed.status == 401)
        #expect(replayed.code == "assertion_replayed")
        #expect(replayed.member("assertion") == "spent")
        let spent = try device.request("GET", "/attested/x", challenge: token)
        #expect(spent.code == "challenge_expired")
        #expect(spent.member("action") == "sign_again")
        #expect(spent.member("assertion") == "unspent")
        #expect(gateway.upstream.requests.count == 1)
        gateway.stop()
        #expect(
            gateway.outcomes(of: "attested") == [
                "verified ok": 1, "refused assertion_replayed": 1, "refused challenge_expired": 1,
            ])
    }

    @Test("an older counter is refused under a fresh challenge, inside a window taken once")
    func counters() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        let tokens = try (0..<6).map { _ in try device.fetchChallenge() }
        func signed(_ path: String, _ counter: UInt32, _ token: String) throws -> HTTPMessage {
            device.device.counter = counter - 1
            return try device.request("GET", path, challenge: token)
        }
        #expect(try signed("/attested/x", 10, tokens[0]).status == 200)
        for (counter, token): (UInt32, String) in [(9, tokens[1]), (10, tokens[2])] {
            let refused = try signed("/attested/x", counter, token)
            #expect(refused.code == "assertion_replayed")
            #expect(refused.member("assertion") == "unspent")
        }
        // A refused request leaves its challenge unspent.
        #expect(try signed("/window/x", 9, tokens[1]).status == 200)
        #expect(try signed("/window/x", 9, tokens[3]).code == "assertion_replayed")
        #expect(try signed("/window/x", 11, tokens[4]).status == 200)
        #expect(try signed("/attested/x", 12, tokens[5]).status == 200)
    }

    @Test("a request that is not the one signed is refused")
    func mismatch() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        let fields = try device.signedFields("POST", "/attested/x", body: Array("{}".utf8))
        for (method, path, body, code) in [
            ("PUT", "/attested/x", "{}", "request_mismatch"),
            ("POST", "/attested/y", "{}", "request_mismatch"),
            ("POST", "/attested/x/", "{}", "request_mismatch"),
            ("POST", "/attested/X", "{}", "request_mismatch"),
            ("POST", "/attested/x", "{ }", "body_mismatch"),
            ("POST", "/attested/x", "", "body_mismatch"),
        ] {
            let answer = try device.send(method, path, fields: fields, body: Array(body.utf8))
            expectRefused(answer, code, by: gateway)
        }
        // Nothing was spent on any of them.
        let answer = try device.send(
            "POST", "/attested/x", fields: fields, body: Array("{}".utf8))
        #expect(answer.status == 200)
    }

    @Test("an assertion with a fault is refused under one code")
    func faults() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        for fault in AssertionFault.allCases {
            let answer = try device.request("GET", "/attested/x", fault: fault)
            let code = fault.code == "malformed" ? "assertion_malformed" : "assertion_invalid"
            // An empty header is a header all the same.
            expectRefused(answer, code, by: gateway)
            #expect(!answer.bodyText.contains("signature"), "\(fault)")
        }
    }

    @Test("no assertion, or one that is no base64, or two, is refused before anything is asked")
    func headers() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        expectRefused(
            try device.send("GET", "/attested/x"), "assertion_required", by: gateway)
        let fields = try device.signedFields("GET", "/attested/x")
        for index in fields.indices {
            var broken = fields
            broken[index].1 = "not base64!"
            let answer = try device.send("GET", "/attested/x", fields: broken)
            expectRefused(answer, "assertion_malformed", by: gateway)
            let doubled = try device.send("GET", "/attested/x", fields: fields + [fields[index]])
            expectRefused(doubled, "assertion_malformed", by: gateway)
            let long = String(repeating: "A", count: 20_000)
            broken[index].1 = long
            let tooLong = try device.send("GET", "/attested/x", fields: broken)
            expectRefused(tooLong, "assertion_malformed", by: gateway)
        }
        #expect(gateway.registry.calls.isEmpty)
    }

    @Test("a challenge that is old, of another life, purpose, key or gateway is refused")
    func challenges() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        let other = KeyID(digest: SHA256.hash(Array("other".utf8)))
        let current = gateway.counters.incarnation
        let refused = [
            try challenge(gateway, life: 0), try challenge(gateway, life: -60_000),
            try challenge(gateway, incarnation: Incarnation(current.value ^ 1)),
            try challenge(gateway, incarnation: Incarnation(0)),
            try challenge(gateway, purpose: .attestation),
            try challenge(gateway, keyID: other),
            try challenge(gateway, key: [UInt8](repeating: 9, count: 32)), "made up", "",
        ]
        for token in refused {
            let answer = try device.request("GET", "/attested/x", challenge: token)
            expectRefused(answer, "challenge_expired", by: gateway)
        }
        #expect(gateway.registry.calls.isEmpty)
        for token in [
            try challenge(gateway), try challenge(gateway, keyID: device.device.keyID),
            try challenge(gateway, life: 20_000),
        ] {
            #expect(try device.request("GET", "/attested/x", challenge: token).status == 200)
        }
    }

    @Test("client data without a challenge asks for one where the route demands it")
    func challengeMissing() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        func fields(_ path: String) throws -> [(String, String)] {
            try device.device.sign(method: "GET", path: path, challenge: nil).headers.map {
                ($0.name, $0.value)
            }
        }
        let answer = try device.send("GET", "/attested/x", fields: try fields("/attested/x"))
        expectRefused(answer, "challenge_required", by: gateway)
        #expect(answer.member("action") == "fetch_challenge")
        let free = try fields("/unchallenged/x")
        #expect(try device.send("GET", "/unchallenged/x", fields: free).status == 200)
        let again = try device.send("GET", "/unchallenged/x", fields: free)
        #expect(again.code == "assertion_replayed")
        // Its counter does not tell this request from one that a later one overtook.
        #expect(again.member("assertion") == "unknown")
        #expect(gateway.upstream.requests.count == 1)
    }

    @Test("unknown, revoked and erased keys, and those of apps that are gone, are refused")
    func keys() throws {
        let gateway = try GatewayUnderTest()
        let unknown = try EnrolledDevice(gateway, isKnown: false)
        expectRefused(
            try unknown.request("GET", "/attested/x"), "key_unknown", by: gateway)
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/observed/x").status == 200)
        gateway.registry.set(.revoked, of: device.device.keyID)
        let revoked = try device.request("GET", "/attested/x")
        #expect(revoked.status == 403)
        #expect(revoked.code == "key_revoked")
        gateway.registry.set(.erased, of: device.device.keyID)
        #expect(try device.request("GET", "/attested/x").code == "key_unknown")
        gateway.registry.set(.active, of: device.device.keyID)
        #expect(try device.request("GET", "/attested/x").status == 200)
        try gateway.reload { $0.apps.removeFirst() }
        #expect(try device.request("GET", "/attested/x").code == "key_unknown")
    }

    @Test("a key proves requests of its own app only")
    func otherApp() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        var record = device.record
        record.appID = GatewayUnderTest.otherAppID
        gateway.registry.insert(record)
        expectRefused(
            try device.request("GET", "/attested/x"), "assertion_invalid", by: gateway)
        var sandbox = device.record
        sandbox.environment = .development
        gateway.registry.insert(sandbox)
        gateway.registry.set(.active, of: sandbox.keyID)
        expectRefused(try device.request("GET", "/attested/x"), "key_unknown", by: gateway)
    }

    @Test("a body larger than memory is verified and passed on whole, a longer one refused")
    func largeBody() throws {
        let gateway = try GatewayUnderTest { $0.limits.bodyMemoryByteCountMax = 1024 }
        let device = try EnrolledDevice(gateway)
        let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        #expect(try device.request("POST", "/attested/x", body: body).status == 200)
        #expect(gateway.upstream.requests.first?.body == body)
        let long = [UInt8](repeating: 0, count: 256 * 1024 + 1)
        let fields = try device.signedFields("POST", "/attested/x", body: long)
        let answer = try device.send("POST", "/attested/x", fields: fields, body: long)
        #expect(answer.status == 413)
        #expect(answer[challengeField] != nil)
        #expect(gateway.upstream.requests.count == 1)
    }

    @Test("a body that cannot be kept is the gateway's fault, and nothing is passed on")
    func bodyFileFails() throws {
        let gateway = try GatewayUnderTest {
            $0.limits.bodyMemoryByteCountMax = 1024
            $0.limits.temporaryDirectory = "/does/not/exist"
        }
        let device = try EnrolledDevice(gateway)
        let body = [UInt8](repeating: 0x2E, count: 2048)
        expectRefused(
            try device.request("POST", "/attested/x", body: body), "gateway_busy",
            by: gateway, status: 503)
    }
}
