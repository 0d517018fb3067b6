import AppAttestTesting
import Attestation
import Bytes
import Crypto
import GatewayTesting
import JSON
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

/// Nothing but Apple's rules is Apple's: a second platform, of which the gateway is told by one
/// entry and the operator's app, goes the whole way beside it.
@Suite("A second platform")
struct SecondPlatformTests {}

extension SecondPlatformTests {
    private static let body = Array(#"{"amount":1}"#.utf8)

    private func gateway(
        _ configure: (inout Settings) -> Void = { _ in }
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest(platforms: PlatformEntry.all + [MadeUpPlatform.entry]) {
            $0.apps.append(MadeUpPlatform.app)
            configure(&$0)
        }
    }

    private func enrolled(_ gateway: GatewayUnderTest) throws -> MadeUpDevice {
        let device = try MadeUpDevice(gateway)
        try #require(device.enrol().status == 200)
        return device
    }

    @Test("enrols keys, and the registry has what it says of them")
    func enrolment() throws {
        let gateway = try gateway()
        let device = try MadeUpDevice(gateway)
        let answer = try device.enrol()
        #expect(answer.status == 200 && answer.member("status") == "attested")
        let record = try #require(gateway.registry.record(of: device.keyID))
        #expect(record.platform == MadeUpPlatform.platformName)
        #expect(record.securityLevel == .strongbox && record.appID == MadeUpPlatform.appID)
        #expect(record.publicKey == device.key.publicKey && record.receipt == nil)

        #expect(try device.enrol(isForged: true).code == "attestation_invalid")
        #expect(try device.enrol(appID: GatewayUnderTest.appID).code == "attestation_invalid")
        let line = try #require(gateway.logLines().first { $0.contains("madeup_detail") })
        #expect(line.contains("\"madeup_detail\":\"yes\""))
        #expect(line.contains("\"app\":\"\(MadeUpPlatform.appID)\""))
    }

    @Test("its causes are in the log in its own words")
    func causes() throws {
        let gateway = try gateway()
        _ = try MadeUpDevice(gateway).enrol(isForged: true)
        let line = try #require(gateway.logLines().first { $0.contains("attestation_invalid") })
        #expect(line.contains("\"detail\":\"madeup_signature\""))
    }

    @Test("its requests reach the upstream", arguments: ["/attested/x", "/window/x", "/durable/x"])
    func requests(path: String) throws {
        let gateway = try gateway()
        let device = try enrolled(gateway)
        for _ in 0..<3 {
            #expect(try device.request("POST", path, body: Self.body).status == 200)
            let request = try #require(gateway.upstream.requests.last)
            #expect(request["X-Attest-Result"] == "verified")
            #expect(request["X-Attest-Key"] == device.keyID.base64)
            #expect(request["X-Attest-App"] == MadeUpPlatform.appID)
        }
        #expect(gateway.outcomes(of: String(path.split(separator: "/")[0]))["verified ok"] == 3)
    }

    @Test("a request comes once, and a challenge serves one request")
    func replay() throws {
        let gateway = try gateway()
        let device = try enrolled(gateway)
        let challenge = try device.challenge()
        let fields = try device.fields("GET", "/attested/x", challenge: challenge)
        #expect(try device.client.exchange("GET", "/attested/x", fields: fields).status == 200)
        let again = try device.client.exchange("GET", "/attested/x", fields: fields)
        #expect(again.code == "assertion_replayed")
        let other = try device.fields("GET", "/attested/y", challenge: challenge)
        let second = try device.client.exchange("GET", "/attested/y", fields: other)
        #expect(second.code == "challenge_expired")
        // The same on a route of another policy: all share the marks.
        let wide = try device.fields("GET", "/window/x", challenge: challenge)
        #expect(
            try device.client.exchange("GET", "/window/x", fields: wide).code
                == "challenge_expired")
        #expect(gateway.upstream.requests.count == 1)
    }

    @Test("a route without challenges takes none of its keys, whatever they bring")
    func unchallenged() throws {
        let gateway = try gateway()
        let device = try enrolled(gateway)
        for challenge in [nil, try device.challenge()] {
            let fields = try device.fields("GET", "/unchallenged/x", challenge: challenge)
            let answer = try device.client.exchange("GET", "/unchallenged/x", fields: fields)
            #expect(answer.status == 401 && answer.code == "challenge_required")
        }
        #expect(gateway.upstream.requests.isEmpty)
    }

    @Test("evidence counts on the key's own platform alone")
    func crossing() throws {
        let gateway = try gateway()
        let apple = try EnrolledDevice(gateway)
        let other = try enrolled(gateway)
        // A bare signature, in the name of Apple's key.
        var fields = try other.fields("GET", "/attested/x", challenge: other.challenge())
        fields[0].1 = apple.device.keyID.base64
        #expect(
            try apple.send("GET", "/attested/x", fields: fields).code == "assertion_malformed")
        // An assertion of Apple's form, in the name of the other key.
        var signed = try apple.signedFields("GET", "/attested/x")
        signed[2].1 = other.keyID.base64
        #expect(
            try apple.send("GET", "/attested/x", fields: signed).code == "assertion_malformed")
        #expect(gateway.upstream.requests.isEmpty)
        #expect(try apple.request("GET", "/attested/x").status == 200)
    }

    @Test("forged and mangled requests are refused")
    func forged() throws {
        let gateway = try gateway()
        let device = try enrolled(gateway)
        let stranger = try MadeUpDevice(gateway)
        var fields = try stranger.fields("GET", "/attested/x", challenge: device.challenge())
        #expect(
            try device.client.exchange("GET", "/attested/x", fields: fields).code
                == "key_unknown")
        fields[0].1 = device.keyID.base64
        #expect(
            try device.client.exchange("GET", "/attested/x", fields: fields).code
                == "assertion_invalid")
        let moved = try device.fields("GET", "/attested/y", challenge: device.challenge())
        #expect(
            try device.client.exchange("GET", "/attested/x", fields: moved).code
                == "request_mismatch")
        #expect(gateway.upstream.requests.isEmpty)
    }

    @Test("check listeners answer for its requests as for any")
    func check() throws {
        let gateway = try gateway()
        let device = try enrolled(gateway)
        try gateway.reload(listener: 0) { listener in
            var check = CheckSettings()
            check.dialect = .forward
            check.from = [
                .block(AddressBlock(address: [127, 0, 0, 0], prefixBitCount: 8))
            ]
            listener.check = check
        }
        let signed = try device.fields("GET", "/attested/x", challenge: device.challenge())
        let asked = [
            ("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/attested/x"),
            ("X-Forwarded-Host", "a"),
        ]
        let client = try gateway.client()
        let allowed = try client.exchange("GET", "/check", fields: asked + signed)
        #expect(allowed.status == 200 && allowed["X-Attest-App"] == MadeUpPlatform.appID)
        #expect(
            try client.exchange("GET", "/check", fields: asked + signed).code
                == "assertion_replayed")
    }

    @Test("session tokens are issued for its keys, and taken")
    func tokens() throws {
        let gateway = try gateway { settings in
            var route = GatewayUnderTest.route("tokens", "/tokens/") {
                $0.mode = .enforce
                $0.accept = [.token]
            }
            route.upstream = 0
            settings.routes.insert(route, at: 0)
        }
        let device = try enrolled(gateway)
        let issued = try device.request("POST", "/assert/token")
        let token = try #require(issued.member("token"), "\(issued.bodyText)")
        let answer = try device.client.exchange(
            "GET", "/tokens/x", fields: [("X-App-Attest-Token", token)])
        #expect(answer.status == 200)
        #expect(gateway.told("X-Attest-App") == MadeUpPlatform.appID)
    }

    @Test("an unknown platform is a clear error")
    func unknown() throws {
        let gateway = try gateway()
        let body = Array(#"{"platform":"else","key_id":"a","challenge":"b"}"#.utf8)
        let answer = try gateway.client().exchange("POST", "/attest/verify", body: body)
        #expect(answer.status == 400)
        #expect(answer.bodyText.contains("platform names none that is known here."))
    }
}
