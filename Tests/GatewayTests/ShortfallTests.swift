import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import EventLoop
import GatewayTesting
import GatewayTokens
import JSON
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Requests that fall short")
struct ShortfallTests {}

extension ShortfallTests {
    private static func gateway(
        _ configure: (inout Route) -> Void
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest { settings in
            settings.rateLimits.append(
                RateLimitSettings(
                    name: "slow", subject: .address, rate: .init(count: 1, period: .hour), burst: 2)
            )
            settings.rateLimits.append(
                RateLimitSettings(
                    name: "each", subject: .key, rate: .init(count: 1, period: .hour), burst: 1))
            let index = settings.routes.firstIndex { $0.name == "attested" }
            if let index { configure(&settings.routes[index]) }
        }
    }

    private static let path = "/attested/x"

    private func seen(_ gateway: GatewayUnderTest) -> [String?] {
        let request = gateway.upstream.requests.last
        return ["X-Attest-Result", "X-Attest-Tier", "X-Attest-Key"].map { request?[$0] }
    }

    @Test("what is missing and what is invalid pass each for itself, told apart and counted")
    func pass() throws {
        let gateway = try Self.gateway {
            $0.attest.onMissing = .pass
            $0.attest.onInvalid = .pass
        }
        let device = try EnrolledDevice(gateway)
        #expect(try device.send("GET", Self.path).status == 200)
        #expect(seen(gateway) == ["missing", "none", nil])
        #expect(try device.request("GET", Self.path, fault: .otherKey).status == 200)
        #expect(seen(gateway) == ["invalid", "none", nil])
        let fields = try device.signedFields("GET", Self.path)
        #expect(try device.send("GET", Self.path, fields: fields).status == 200)
        #expect(seen(gateway) == ["verified", "attested", device.device.keyID.base64])
        #expect(try device.send("GET", Self.path, fields: fields).status == 200)
        #expect(seen(gateway) == ["invalid", "none", nil])
        gateway.registry.set(.revoked, of: device.device.keyID)
        #expect(try device.request("GET", Self.path).status == 200)
        #expect(seen(gateway) == ["invalid", "none", nil])
        // What a store does not tell is neither.
        gateway.registry.fail("down")
        let other = try EnrolledDevice(gateway)
        #expect(try other.request("GET", Self.path).code == "store_unavailable")
        gateway.stop()
        #expect(
            gateway.outcomes(of: "attested") == [
                "tolerated assertion_required": 1, "tolerated assertion_invalid": 1,
                "tolerated assertion_replayed": 1, "tolerated key_revoked": 1, "verified ok": 1,
                "refused store_unavailable": 1,
            ])
        let meter = try #require(gateway.hub.meters[0].routeMeters["attested"])
        #expect(meter.count(.none) == 5)
        #expect(meter.count(.attested) == 1)
    }

    @Test("a limit lets so many pass, then 429, and counts nobody else")
    func limit() throws {
        let gateway = try Self.gateway {
            $0.attest.onMissing = .limit
            $0.attest.limits.missing = "slow"
        }
        let device = try EnrolledDevice(gateway)
        for _ in 0..<2 { #expect(try device.send("GET", Self.path).status == 200) }
        #expect(seen(gateway) == ["missing", "none", nil])
        let refused = try device.send("GET", Self.path)
        #expect(refused.status == 429)
        #expect(refused.code == "rate_limited")
        #expect(try #require(refused["Retry-After"].flatMap(Int.init)) > 1)
        #expect(try device.request("GET", Self.path).status == 200)
        #expect(seen(gateway)[0] == "verified")
        #expect(try device.request("GET", Self.path, fault: .otherKey).status == 401)
        let lines = try gateway.logLines()
        #expect(
            lines.contains {
                $0.contains(#""decision":"limited","reason":"assertion_required","tier":"none""#)
            })
        #expect(lines.contains { $0.contains(#""detail":"rate: slow (assertion_required)""#) })
        #expect(
            gateway.outcomes(of: "attested") == [
                "limited assertion_required": 2, "refused rate_limited": 1, "verified ok": 1,
                "refused assertion_invalid": 1,
            ])
    }

    // MARK: tiers

    private func token(_ device: EnrolledDevice) throws -> [(String, String)] {
        let signed = try device.signedFields("POST", "/assert/token")
        let answer = try device.send("POST", "/assert/token", fields: signed)
        return [("X-App-Attest-Token", try #require(answer.member("token")))]
    }

    @Test("what is worth less counts against its key's limit, and is told with what it is worth")
    func tiers() throws {
        let gateway = try Self.gateway {
            $0.attest.accept = [.assertion, .token]
            $0.attest.minTier = .attested
            $0.attest.onLowerTier = .limit
            $0.attest.limits.lowerTier = "each"
        }
        let first = try EnrolledDevice(gateway)
        let second = try EnrolledDevice(gateway)
        let fields = try token(first)
        #expect(try first.send("GET", Self.path, fields: fields).status == 200)
        #expect(seen(gateway) == ["verified", "token", first.device.keyID.base64])
        #expect(try first.send("GET", Self.path, fields: fields).code == "rate_limited")
        #expect(try second.send("GET", Self.path, fields: try token(second)).status == 200)
        #expect(try first.request("GET", Self.path).status == 200)
        gateway.stop()
        #expect(
            gateway.outcomes(of: "attested") == [
                "limited assertion_required": 2, "refused rate_limited": 1, "verified ok": 1,
            ])
        let meter = try #require(gateway.hub.meters[0].routeMeters["attested"])
        // Of all, also of the one that was refused.
        #expect(meter.count(.token) == 3)
    }

    // MARK: what the app is

    @Test("a refusal by what the app is leaves counter and challenge as they were")
    func refusalSpendsNothing() throws {
        let gateway = try Self.gateway {
            $0.attest.categories = AppCategories([4], orMissing: false)
        }
        let device = try EnrolledDevice(gateway, system: .iOS27, category: .testFlight)
        let fields = try device.signedFields("GET", Self.path)
        for _ in 0..<2 {
            let refused = try device.send("GET", Self.path, fields: fields)
            #expect(refused.status == 403)
            #expect(refused.code == "distribution_not_allowed")
            #expect(refused.member("action") == "none")
            #expect(refused.member("assertion") == "unspent")
        }
        try gateway.reload { settings in
            for index in settings.routes.indices {
                settings.routes[index].attest.categories = .all
            }
        }
        #expect(try device.send("GET", Self.path, fields: fields).status == 200)
    }

    @Test("the assertion's word of its category counts, and the attestation's where it has none")
    func category() throws {
        let gateway = try Self.gateway {
            $0.attest.categories = AppCategories([4], orMissing: true)
        }
        func isTaken(_ system: SimulatedSystem) throws -> Bool {
            let device = try EnrolledDevice(gateway, system: system, isKnown: false)
            var record = device.record
            record.validationCategory = ValidationCategory.testFlight.rawValue
            gateway.registry.insert(record)
            return try device.request("GET", Self.path).status == 200
        }
        #expect(try isTaken(.iOS27))
        #expect(try !isTaken(.iOS26))
    }

    @Test("a key is of the environment in which it was enrolled, if its app takes that at all")
    func environment() throws {
        let gateway = try Self.gateway { $0.attest.environments = .production }
        let device = try EnrolledDevice(gateway, environment: .development)
        #expect(try device.request("GET", Self.path).code == "key_unknown")
        try gateway.reload { settings in
            settings.apps = settings.apps.map {
                AppIdentity(id: $0.id, environments: [.production, .development])
            }
        }
        #expect(try device.request("GET", Self.path).code == "distribution_not_allowed")
        #expect(try device.request("GET", "/window/x").status == 200)
    }

    @Test("an old app, and the upstream, are told that it is outdated")
    func versions() throws {
        let min = try #require(BundleVersion("4.10"))
        let grace = try #require(BundleVersion("4.2"))
        let gateway = try Self.gateway {
            $0.attest.accept = [.assertion, .token]
            $0.attest.versions = VersionRule(common: VersionBounds(min: min, grace: grace))
        }
        func answer(_ version: String) throws -> HTTPMessage {
            try EnrolledDevice(gateway, system: .iOS27, version: version).request("GET", Self.path)
        }
        let current = try answer("4.10")
        #expect(current.status == 200 && current["X-App-Attest-Action"] == nil)
        #expect(gateway.upstream.requests.last?["X-Attest-Outdated"] == nil)
        let outdated = try answer("4.9.1")
        #expect(outdated.status == 200)
        #expect(outdated["X-App-Attest-Action"] == "update_app")
        #expect(gateway.upstream.requests.last?["X-Attest-Outdated"] == "true")
        #expect(gateway.upstream.requests.last?["X-Attest-Version"] == "4.9.1")
        let refused = try answer("4.1")
        #expect(refused.status == 403)
        #expect(refused.code == "app_outdated")
        #expect(refused.member("action") == "update_app")
        // A token says what the app was when it was issued.
        let device = try EnrolledDevice(gateway, system: .iOS27, version: "4.1")
        let fields = try token(device)
        #expect(try device.send("GET", Self.path, fields: fields).code == "app_outdated")
        gateway.stop()
        let meter = try #require(gateway.hub.meters[0].routeMeters["attested"])
        #expect(meter.outdatedCount == 1)
        #expect(try gateway.logLines().filter { $0.contains(#""outdated":true"#) }.count == 1)
    }

    @Test("a key at risk counts against its limit once it is accepted; a replay takes nothing")
    func risk() throws {
        let gateway = try Self.gateway {
            $0.attest.risk = RiskRule(max: 3, .limit)
            $0.attest.limits.risk = "slow"
        }
        let device = try EnrolledDevice(gateway, isKnown: false)
        var record = device.record
        record.riskMetric = 4
        gateway.registry.insert(record)
        let fields = try device.signedFields("GET", Self.path)
        #expect(try device.send("GET", Self.path, fields: fields).status == 200)
        #expect(seen(gateway) == ["verified", "attested", device.device.keyID.base64])
        #expect(gateway.upstream.requests.last?["X-Attest-Risk"] == "4")
        for _ in 0..<3 {
            #expect(
                try device.send("GET", Self.path, fields: fields).code == "assertion_replayed")
        }
        #expect(try device.request("GET", Self.path).status == 200)
        let limited = try device.request("GET", Self.path)
        #expect(limited.code == "rate_limited")
        #expect(limited.member("assertion") == "unspent")
        #expect(try EnrolledDevice(gateway).request("GET", Self.path).status == 200)
        gateway.stop()
        #expect(
            gateway.outcomes(of: "attested") == [
                "limited risk_too_high": 2, "refused assertion_replayed": 3,
                "refused rate_limited": 1, "verified ok": 1,
            ])
        #expect(gateway.hub.meters[0].routeMeters["attested"]?.riskyCount == 6)
    }

    // MARK: developer tokens

    private func token(
        _ worth: DeveloperToken.Worth = .token, audience: [String] = [], ttl: Int64 = 60
    ) throws -> [(String, String)] {
        let now = WallClock.now().seconds
        let developer = DeveloperToken(
            name: "ci", id: "0123456789abcdef", issuedAt: now, expiresAt: now + ttl,
            audience: audience, worth: worth)
        let sealer = try #require(DeveloperTokenSealer(keys: [GatewayUnderTest.challengeKey]))
        return [
            ("X-App-Attest-Token", String(decoding: sealer.token(of: developer), as: UTF8.self))
        ]
    }

    @Test("a developer's token is good where the route says so, and never as verified")
    func developerToken() throws {
        let gateway = try Self.gateway {
            $0.attest.accept = [.assertion, .token, .developer]
            $0.attest.environments = .production
            $0.attest.categories = AppCategories([4], orMissing: false)
        }
        let client = try gateway.client()
        func send(_ fields: [(String, String)], _ path: String = Self.path) throws -> String {
            let answer = try client.exchange("GET", path, fields: fields)
            return answer.code ?? "\(answer.status)"
        }
        #expect(try send(try token()) == "200")
        #expect(seen(gateway) == ["developer", "token", nil])
        #expect(gateway.upstream.requests.last?["X-Attest-Developer"] == "ci")
        #expect(try send(try token(.none, audience: ["attested"])) == "200")
        #expect(seen(gateway) == ["developer", "none", nil])
        #expect(try send(try token(audience: ["window"])) == "token_invalid")
        #expect(try send(try token(ttl: 0)) == "token_invalid")
        #expect(try send(try token(), "/window/x") == "assertion_required")
        try gateway.reload { $0.developerTokens.lifeMax = .seconds(59) }
        #expect(try send(try token()) == "token_invalid")
        for revoked in ["ci", "0123456789abcdef"] {
            try gateway.reload { settings in
                settings.developerTokens.lifeMax = .seconds(60)
                settings.developerTokens.revoked = [revoked]
            }
            #expect(try send(try token()) == "token_invalid")
        }
        // A genuine assertion comes first, whatever is beside it.
        let device = try EnrolledDevice(gateway, system: .iOS27)
        let fields = try device.signedFields("GET", Self.path) + token()
        #expect(try device.send("GET", Self.path, fields: fields).status == 200)
        #expect(seen(gateway)[0] == "verified")
        // Where nothing else is taken, that is what is missing.
        try gateway.reload { settings in
            let index = settings.routes.firstIndex { $0.name == "attested" }
            if let index { settings.routes[index].attest.accept = .developer }
        }
        #expect(try device.request("GET", Self.path).code == "token_invalid")
        let now = WallClock.now().seconds
        let session = SessionToken(
            keyID: device.device.keyID, appID: GatewayUnderTest.appID, environment: .production,
            issuedAt: now, expiresAt: now + 60, audience: ["attested"])
        let sealer = try #require(SessionTokenSealer(keys: [GatewayUnderTest.challengeKey]))
        let sealed = String(decoding: sealer.token(of: session), as: UTF8.self)
        #expect(try send([("X-App-Attest-Token", sealed)]) == "token_invalid")
        let lines = try gateway.logLines()
        let told = #""developer_token":"ci","developer_token_id":"0123456789abcdef""#
        #expect(lines.filter { $0.contains(told) }.count == 4)
        #expect(lines.filter { $0.contains(#""detail":"token_revoked""#) }.count == 2)
        #expect(gateway.hub.meters[0].value(.developerTokens) == 2)
        #expect(gateway.outcomes(of: "attested")["developer ok"] == 2)
    }

    @Test("what an upstream says in these headers does not reach the app")
    func spoofed() throws {
        let gateway = try GatewayUnderTest(upstream: { _ in
            .response(fields: [("X-App-Attest-Action", "update_app")])
        })
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", Self.path)["X-App-Attest-Action"] == nil)
        let fields = [("X-Attest-Outdated", "true"), ("X_Attest_Tier", "attested")]
        #expect(try device.send("GET", "/x", fields: fields).status == 200)
        let names = gateway.upstream.requests.last?.message.fields.map { $0.name.lowercased() }
        #expect(names?.contains { $0.contains("attest") } == false)
    }
}
