import Bytes
import EventLoop
import GatewayTesting
import JWT
import Policy
import Settings
import Testing

@testable import Background
@testable import Gateway

/// Problems of the status page that depend on the cause of what was refused.
@Suite("The status page, by causes")
struct StatusCauseTests {}

extension StatusCauseTests {
    private static let issuer: ProofSettings = {
        var proof = ProofSettings()
        proof.name = "issuer"
        proof.issuer = "i"
        proof.audiences = ["a"]
        proof.algorithms = [.rs256]
        proof.header = "x-other-token"
        proof.jwks = .url("https://issuer.example/keys")
        return proof
    }()

    private func problems(
        _ gateway: GatewayUnderTest, now: Int64 = WallClock.now().seconds
    ) throws -> [StatusProblem] {
        let site = try Site(
            settings: gateway.settings, challengeKeys: [GatewayUnderTest.challengeKey],
            generation: 1, rollouts: gateway.rollouts)
        let history = gateway.hub.history.withLock { $0 }
        return StatusInspection(hub: gateway.hub, site: site, now: now, history: history).problems
    }

    /// What the page says after so many calls at a check listener that only `from` may ask.
    private func refused(
        _ count: Int, from: [TrustedProxy], later seconds: Int64 = 0
    ) throws -> StatusProblem? {
        let gateway = try GatewayUnderTest()
        try gateway.reload(listener: 0) { listener in
            var check = CheckSettings()
            check.from = from
            listener.check = check
        }
        for _ in 0..<count { _ = try gateway.client().exchange("GET", "/check") }
        gateway.stop()
        return try problems(gateway, now: WallClock.now().seconds + seconds)
            .first { $0.name == .checkRefused }
    }

    @Test("questions that nobody can answer are told, and which check they fail")
    func questions() throws {
        #expect(try refused(9, from: []) == nil)
        let stranger = try #require(try refused(10, from: []))
        #expect(stranger.level == .warning)
        #expect(
            stranger.text == "At least 10 questions at check listeners could not be answered in "
                + "the last hour (check_peer).")
        #expect(stranger.remedy.contains("check.dialect and check.from"))
        let loopback = TrustedProxy.block(
            AddressBlock(address: [127, 0, 0, 0], prefixBitCount: 8))
        #expect(try refused(10, from: [loopback])?.text.contains("(check_header)") == true)
        #expect(try refused(10, from: [loopback], later: 3600) == nil)
    }

    @Test("an issuer that answers with no keys is not one that cannot be reached")
    func issuerAnswers() throws {
        let gateway = try GatewayUnderTest { $0.proofs = [Self.issuer] }
        let place = try #require(IssuerKeyRegister.Place(Self.issuer))
        let keys = gateway.hub.issuerKeys.keys(of: place)
        for (outcome, start) in [
            (IssuerKeys.Outcome.failed, "Make https://issuer.example/keys reachable;"),
            (.refused, "Check proofs.issuer.jwks: https://issuer.example/keys answers with"),
            (.malformed, "Check proofs.issuer.jwks: https://issuer.example/keys answers with"),
        ] {
            keys.fail(outcome, "why")
            let found = try #require(try problems(gateway).first { $0.name == .jwksMissing })
            #expect(found.remedy.hasPrefix(start), "\(found.remedy)")
        }
    }

    @Test("an issuer whose keys were never there is told before anything has failed")
    func neverFetched() throws {
        let gateway = try GatewayUnderTest { $0.proofs = [Self.issuer] }
        let found = try #require(try problems(gateway).first { $0.name == .jwksMissing })
        #expect(found.level == .error)
        #expect(found.text.hasPrefix("The keys of issuer have not come yet"))
        #expect(found.remedy.contains("https://issuer.example/keys"))
    }

    @Test("an issuer without keys is no store that fails")
    func stores() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.proofs = [Self.issuer]
            settings.routes[0].attest.accept.insert(.foreign)
            settings.routes[0].attest.proofs = [
                ForeignProof(index: 0, name: "issuer", tier: .foreign)
            ]
        }
        let token = Base64.encode(Array(#"{"alg":"RS256","kid":"k"}"#.utf8))
            .prefix { $0 != "=" }
        let refused = try gateway.client().exchange(
            "GET", "/attested/x", fields: [("X-Other-Token", token + ".e30.AAAA")])
        #expect(refused.code == "store_unavailable")
        gateway.stop()
        StatusSampler.sample(gateway.hub, at: .now())
        #expect(try !problems(gateway).contains { $0.name == .storeUnavailable })

        let other = try GatewayUnderTest()
        let device = try EnrolledDevice(other)
        other.registry.fail("down")
        #expect(try device.request("GET", "/attested/x").code == "store_unavailable")
        other.stop()
        StatusSampler.sample(other.hub, at: .now())
        #expect(try problems(other).contains { $0.name == .storeUnavailable })
    }
}
