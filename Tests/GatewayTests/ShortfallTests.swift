import AppAttest
import AppAttestTesting
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
struct ShortfallTests {
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

    /// With a rule about risk, and what enrols a device of some risk there.
    private static func gateway(
        risk: RiskRule, _ configure: (inout Route) -> Void = { _ in }
    ) throws -> (GatewayUnderTest, (UInt32?) throws -> EnrolledDevice) {
        let gateway = try gateway {
            $0.restrictions.risk = risk
            configure(&$0)
        }
        return (
            gateway,
            { metric in
                let device = try EnrolledDevice(gateway, isKnown: false)
                var record = device.record
                record.riskMetric = metric
                gateway.registry.insert(record)
                return device
            }
        )
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

    @Test("denying is the default, each for itself")
    func denyByDefault() throws {
        let missing = try Self.gateway { $0.attest.onMissing = .pass }
        let device = try EnrolledDevice(missing)
        #expect(try device.send("GET", Self.path).status == 200)
        #expect(
            try device.request("GET", Self.path, fault: .otherKey).code == "assertion_invalid")
        let invalid = try Self.gateway { $0.attest.onInvalid = .pass }
        let other = try EnrolledDevice(invalid)
        #expect(try other.send("GET", Self.path).code == "assertion_required")
        #expect(try other.request("GET", Self.path, fault: .otherKey).status == 200)
    }

    @Test("a limit lets so many pass, then 429, and counts nobody else")
    func limit() throws {
        let gateway = try Self.gateway {
            $0.attest.onMissing = .limit
            $0.restrictions.limits.missing = "slow"
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

    @Test("a store that is away may be let through within a limit")
    func storeFailureLimit() throws {
        let gateway = try Self.gateway {
            $0.attest.onStoreFailure = .limit
            $0.restrictions.limits.storeFailure = "slow"
        }
        gateway.registry.fail("down")
        let device = try EnrolledDevice(gateway)
        for _ in 0..<2 { #expect(try device.request("GET", Self.path).status == 200) }
        #expect(seen(gateway) == ["unverified", "none", nil])
        #expect(try device.request("GET", Self.path).status == 429)
        #expect(try device.send("GET", Self.path).code == "assertion_required")
        gateway.stop()
        #expect(
            gateway.outcomes(of: "attested") == [
                "limited store_unavailable": 2, "refused rate_limited": 1,
                "refused assertion_required": 1,
            ])
    }

    @Test("observing lets all of it pass and takes no limit's tokens")
    func observed() throws {
        let gateway = try Self.gateway {
            $0.attest.mode = .observe
            $0.attest.onMissing = .limit
            $0.restrictions.limits.missing = "slow"
            $0.restrictions.environments = .development
        }
        let device = try EnrolledDevice(gateway)
        for _ in 0..<4 { #expect(try device.send("GET", Self.path).status == 200) }
        #expect(seen(gateway) == ["unverified", "none", nil])
        #expect(try device.request("GET", Self.path).status == 200)
        #expect(seen(gateway) == ["unverified", "none", nil])
        gateway.stop()
        #expect(
            gateway.outcomes(of: "attested") == [
                "observed assertion_required": 4, "observed distribution_not_allowed": 1,
            ])
    }

    // MARK: tiers

    private func token(_ device: EnrolledDevice) throws -> [(String, String)] {
        let signed = try device.signedFields("POST", "/assert/token")
        let answer = try device.send("POST", "/assert/token", fields: signed)
        return [("X-App-Attest-Token", try #require(answer.member("token")))]
    }

    @Test("a proof that is worth less is refused, limited or passed with what it is worth")
    func tiers() throws {
        func gateway(_ action: ShortfallAction, _ limit: String? = nil) throws -> GatewayUnderTest {
            try Self.gateway {
                $0.attest.accept = [.assertion, .token]
                $0.attest.minTier = .attested
                $0.attest.onLowerTier = action
                $0.restrictions.limits.lowerTier = limit
            }
        }
        let denying = try gateway(.deny)
        let first = try EnrolledDevice(denying)
        let refused = try first.send("GET", Self.path, fields: try token(first))
        #expect(refused.status == 401)
        #expect(refused.code == "assertion_required")
        #expect(refused.member("action") == "sign_again")
        #expect(try first.request("GET", Self.path).status == 200)
        let passing = try gateway(.pass)
        let second = try EnrolledDevice(passing)
        #expect(try second.send("GET", Self.path, fields: try token(second)).status == 200)
        #expect(seen(passing) == ["verified", "token", second.device.keyID.base64])
        passing.stop()
        #expect(passing.outcomes(of: "attested") == ["tolerated assertion_required": 1])
        let limiting = try gateway(.limit, "each")
        let third = try EnrolledDevice(limiting)
        let fourth = try EnrolledDevice(limiting)
        let fields = try token(third)
        #expect(try third.send("GET", Self.path, fields: fields).status == 200)
        #expect(seen(limiting) == ["verified", "token", third.device.keyID.base64])
        #expect(try third.send("GET", Self.path, fields: fields).code == "rate_limited")
        #expect(try fourth.send("GET", Self.path, fields: try token(fourth)).status == 200)
        #expect(try third.request("GET", Self.path).status == 200)
        limiting.stop()
        #expect(
            limiting.outcomes(of: "attested") == [
                "limited assertion_required": 2, "refused rate_limited": 1, "verified ok": 1,
            ])
        let meter = try #require(limiting.hub.meters[0].routeMeters["attested"])
        // Of all, also of the one that was refused.
        #expect(meter.count(.token) == 3)
    }

    // MARK: restrictions

    @Test("a refusal by what the app is leaves counter and challenge as they were")
    func refusalSpendsNothing() throws {
        let gateway = try Self.gateway {
            $0.restrictions.categories = AppCategories([4], orMissing: false)
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
                settings.routes[index].restrictions = RouteRestrictions()
            }
        }
        #expect(try device.send("GET", Self.path, fields: fields).status == 200)
    }

    @Test("environments and categories, by the newest word")
    func distribution() throws {
        let gateway = try Self.gateway {
            $0.restrictions.environments = .production
            $0.restrictions.categories = AppCategories([4], orMissing: true)
        }
        func outcome(_ device: EnrolledDevice) throws -> String {
            let answer = try device.request("GET", Self.path)
            return answer.code ?? "\(answer.status)"
        }
        #expect(try outcome(try EnrolledDevice(gateway, system: .iOS27)) == "200")
        #expect(try outcome(try EnrolledDevice(gateway, system: .iOS26)) == "200")
        #expect(
            try outcome(try EnrolledDevice(gateway, system: .iOS27Integer, category: .enterprise))
                == "distribution_not_allowed")
        // The attestation's word stands where the assertion has none, and only there.
        let old = try EnrolledDevice(gateway, system: .iOS26, isKnown: false)
        var record = old.record
        record.validationCategory = ValidationCategory.testFlight.rawValue
        gateway.registry.insert(record)
        #expect(try outcome(old) == "distribution_not_allowed")
        let updated = try EnrolledDevice(gateway, system: .iOS27, isKnown: false)
        record = updated.record
        record.validationCategory = ValidationCategory.testFlight.rawValue
        gateway.registry.insert(record)
        #expect(try outcome(updated) == "200")
        // Its app takes production only, in general.
        let strange = try EnrolledDevice(gateway, environment: .development)
        #expect(try outcome(strange) == "key_unknown")
        try gateway.reload { settings in
            settings.apps = settings.apps.map {
                AppIdentity(id: $0.id, environments: [.production, .development])
            }
        }
        #expect(try outcome(strange) == "distribution_not_allowed")
        #expect(try strange.request("GET", "/window/x").status == 200)
    }

    @Test("an old app is served, told, or refused, by its version")
    func versions() throws {
        let min = try #require(BundleVersion("4.10"))
        let grace = try #require(BundleVersion("4.2"))
        let gateway = try Self.gateway {
            $0.attest.accept = [.assertion, .token]
            var rule = VersionRule(common: VersionBounds(min: min, grace: grace))
            rule.apps[GatewayUnderTest.otherAppID] = VersionBounds(min: grace)
            $0.restrictions.versions = rule
        }
        func answer(_ version: String, _ appID: String = GatewayUnderTest.appID) throws
            -> HTTPMessage
        {
            try EnrolledDevice(gateway, appID: appID, system: .iOS27, version: version)
                .request("GET", Self.path)
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
        #expect(try answer("four").code == "app_outdated")
        #expect(try answer("4.9", GatewayUnderTest.otherAppID)["X-App-Attest-Action"] == nil)
        #expect(try answer("4.1", GatewayUnderTest.otherAppID).code == "app_outdated")
        #expect(
            try EnrolledDevice(gateway).request("GET", Self.path).code == "app_outdated")
        // A token says what the app was when it was issued.
        let device = try EnrolledDevice(gateway, system: .iOS27, version: "4.1")
        let fields = try token(device)
        #expect(try device.send("GET", Self.path, fields: fields).code == "app_outdated")
        try gateway.reload { settings in
            for index in settings.routes.indices {
                settings.routes[index].restrictions.versions?.missing = .outdated
            }
        }
        let silent = try EnrolledDevice(gateway).request("GET", Self.path)
        #expect(silent.status == 200 && silent["X-App-Attest-Action"] == "update_app")
        gateway.stop()
        let meter = try #require(gateway.hub.meters[0].routeMeters["attested"])
        #expect(meter.outdatedCount == 2)
        #expect(try gateway.logLines().filter { $0.contains(#""outdated":true"#) }.count == 2)
    }

    @Test("a risk above the threshold is counted, limited or refused; none is not above")
    func risk() throws {
        let (observing, enrolled) = try Self.gateway(risk: RiskRule(max: 3))
        for metric in [nil, 0, 3, 4] as [UInt32?] {
            #expect(try enrolled(metric).request("GET", Self.path).status == 200)
        }
        #expect(observing.upstream.requests.last?["X-Attest-Risk"] == "4")
        #expect(seen(observing)[0] == "verified")
        observing.stop()
        #expect(observing.outcomes(of: "attested") == ["verified ok": 4])
        #expect(observing.hub.meters[0].routeMeters["attested"]?.riskyCount == 1)
        let (_, known) = try Self.gateway(risk: RiskRule(max: 3, .deny))
        #expect(try known(nil).request("GET", Self.path).status == 200)
        let refused = try known(4).request("GET", Self.path)
        #expect(refused.status == 403)
        #expect(refused.code == "risk_too_high")
        #expect(refused.member("assertion") == "unspent")
        let (limiting, listed) = try Self.gateway(risk: RiskRule(max: 3, .limit)) {
            $0.restrictions.limits.risk = "each"
        }
        let device = try listed(9)
        let fields = try device.signedFields("GET", Self.path)
        #expect(try device.send("GET", Self.path, fields: fields).status == 200)
        #expect(seen(limiting) == ["verified", "attested", device.device.keyID.base64])
        let over = try device.signedFields("GET", Self.path)
        let limited = try device.send("GET", Self.path, fields: over)
        #expect(limited.code == "rate_limited")
        #expect(limited.member("assertion") == "unspent")
        #expect(try listed(9).request("GET", Self.path).status == 200)
        #expect(try listed(nil).request("GET", Self.path).status == 200)
        limiting.stop()
        #expect(
            limiting.outcomes(of: "attested") == [
                "limited risk_too_high": 2, "refused rate_limited": 1, "verified ok": 1,
            ])
    }

    @Test("a risk above the threshold lowers the tier, and the route's words for that tier follow")
    func riskTier() throws {
        var rule = RiskRule(max: 3, .lower)
        rule.tier = .token
        let (telling, enrolled) = try Self.gateway(risk: rule)
        #expect(try enrolled(3).request("GET", Self.path).status == 200)
        #expect(seen(telling)[1] == "attested")
        #expect(try enrolled(4).request("GET", Self.path).status == 200)
        #expect(seen(telling).prefix(2) == ["verified", "token"])
        telling.stop()
        #expect(telling.outcomes(of: "attested") == ["verified ok": 2])

        let (refusing, known) = try Self.gateway(risk: rule) {
            $0.attest.minTier = .deviceCheck
        }
        let refused = try known(4).request("GET", Self.path)
        #expect(refused.status == 403)
        #expect(refused.code == "risk_too_high")
        #expect(refused.member("assertion") == "unspent")
        #expect(try known(nil).request("GET", Self.path).status == 200)
        refusing.stop()

        let (passing, listed) = try Self.gateway(risk: rule) {
            $0.attest.minTier = .attested
            $0.attest.onLowerTier = .pass
        }
        #expect(try listed(4).request("GET", Self.path).status == 200)
        #expect(seen(passing).prefix(2) == ["verified", "token"])
        passing.stop()
        #expect(passing.outcomes(of: "attested") == ["tolerated risk_too_high": 1])
    }

    @Test("a replay takes nothing from the limit of a key at risk")
    func riskReplay() throws {
        let gateway = try Self.gateway {
            $0.restrictions.risk = RiskRule(max: 3)
            $0.restrictions.risk?.action = .limit
            $0.restrictions.limits.risk = "slow"
        }
        let device = try EnrolledDevice(gateway, isKnown: false)
        var record = device.record
        record.riskMetric = 4
        gateway.registry.insert(record)
        let fields = try device.signedFields("GET", Self.path)
        #expect(try device.send("GET", Self.path, fields: fields).status == 200)
        for _ in 0..<3 {
            #expect(
                try device.send("GET", Self.path, fields: fields).code == "assertion_replayed")
        }
        #expect(try device.request("GET", Self.path).status == 200)
        #expect(try device.request("GET", Self.path).code == "rate_limited")
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
            $0.restrictions.environments = .production
            $0.restrictions.categories = AppCategories([4], orMissing: false)
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
        let lines = try gateway.logLines()
        let told = #""developer_token":"ci","developer_token_id":"0123456789abcdef""#
        #expect(lines.filter { $0.contains(told) }.count == 4)
        #expect(lines.filter { $0.contains(#""detail":"token_revoked""#) }.count == 2)
        #expect(gateway.hub.meters[0].value(.developerTokens) == 2)
        #expect(gateway.outcomes(of: "attested")["developer ok"] == 2)
    }

    @Test("a route that takes session tokens takes no developer's, nor the other way round")
    func tokenKinds() throws {
        let sessions = try Self.gateway { $0.attest.accept = [.assertion, .token] }
        #expect(
            try sessions.client().exchange("GET", Self.path, fields: try token()).code
                == "token_invalid")
        let developers = try GatewayUnderTest { settings in
            settings.routes += [
                GatewayUnderTest.route("both", "/both/") {
                    $0.mode = .enforce
                    $0.accept = [.assertion, .token]
                }
            ]
            let index = settings.routes.firstIndex { $0.name == "attested" }
            if let index {
                settings.routes[index].attest.accept = .developer
                settings.routes[index].attest.minTier = .token
            }
        }
        let device = try EnrolledDevice(developers)
        let session = try self.token(device)
        #expect(try device.send("GET", "/both/x", fields: session).status == 200)
        #expect(try device.send("GET", Self.path, fields: session).code == "token_invalid")
        #expect(try device.request("GET", Self.path).code == "token_invalid")
        #expect(try device.send("GET", Self.path).code == "token_invalid")
        #expect(try device.send("GET", Self.path, fields: try token()).status == 200)
        #expect(
            try device.send("GET", Self.path, fields: try token(.none)).code
                == "assertion_required")
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
