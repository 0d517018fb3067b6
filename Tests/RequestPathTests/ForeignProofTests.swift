import AppAttestTesting
import Bytes
import Crypto
import GatewayTesting
import JSON
import Testing

@Suite("Tokens of other issuers at a gateway", .enabled(if: BuiltProgram.isBuilt))
struct ForeignProofTests {
    private typealias Site = ForeignProofSite
    private let directory: ScratchDirectory
    private let key: IssuerKey

    init() throws {
        directory = try ScratchDirectory()
        key = try IssuerKey("ES256", in: directory)
    }
}

extension ForeignProofTests {
    @Test("pass at a tier of their own, as often as they come, and the upstream hears which")
    func passing() throws {
        let site = try Site(
            Site.keys(key.jwk()), proof: "subjects: [\"1:7:android:x\"]",
            listener: ["protocols: [http/1.1, h2]"])
        let token = try key.token(Site.claims(#","sub":"1:7:android:x""#))
        for _ in 0..<2 { #expect(try site.send(token).status == 200) }
        let second = try HTTP2Client(port: site.gateway.port).exchange(
            1, "GET", "/api/x", fields: [(Site.header.lowercased(), token)])
        #expect(second.status == 200)
        for request in site.upstream.requests {
            #expect(request["X-Attest-Result"] == "foreign")
            #expect(request["X-Attest-Tier"] == "foreign")
            #expect(request["X-Attest-Proof"] == "issuer")
            #expect(request["X-Attest-Key"] == nil && request["X-Attest-App"] == nil)
            // The API may verify it as it did before.
            #expect(request[Site.header] == token)
        }
        #expect(site.upstream.requests.count == 3)
        let line = try site.gateway.accessLine { $0["decision"]?.stringValue == "foreign" }
        #expect(line["proof"] == .string("issuer") && line["tier"] == .string("foreign"))
        #expect(line["bucket"] == .string("foreign") && line["detail"] == nil)
        let sample =
            #"sallyport_proof_requests_total{route="api",proof="issuer",subject="1:7:android:x","#
            + #"decision="foreign"}"#
        try site.waitForMetric(sample) { $0 == 3 }
        let proof = try #require(try site.status()["proofs"]?.arrayValue?.first)
        let use = try #require(proof["passed_by_it_alone"]?.arrayValue?.first)
        #expect(use["subject"] == .string("1:7:android:x") && use["route"] == .string("api"))
        #expect(use["hour"] == .integer(3) && use["day"] == .integer(3))
        #expect(proof["key_count"] == .integer(1) && proof["failure"] == .null)
        #expect(proof["accepted"] == .integer(3) && proof["refused"] == .integer(0))
    }

    @Test("the status page shows keys and counts of each issuer, without a script, too")
    func page() throws {
        let site = try Site(
            Site.keys(key.jwk()),
            attest: "min_tier: token, on_lower_tier: pass")
        let token = try key.token(Site.claims())
        #expect(try site.send(token).status == 200)
        #expect(try site.send(token + "A").outcome == "401 token_invalid")
        #expect(try site.send("x").outcome == "401 token_invalid")
        _ = try site.gateway.accessLine { $0["status"]?.integerValue == 401 }
        try site.waitForMetric(
            #"sallyport_proof_requests_total{route="api",proof="issuer",subject="none","#
                + #"decision="refused"}"#
        ) { $0 == 2 }
        let proof = try #require(try site.status()["proofs"]?.arrayValue?.first)
        // It held, and fell short of what the route demands.
        #expect(proof["accepted"] == .integer(1) && proof["refused"] == .integer(2))
        #expect(proof["passed_by_it_alone"] == .array([]))
        let next = try #require(proof["next_s"]?.integerValue)
        #expect((3000...3600).contains(next))
        let page = try site.gateway.admin("/").bodyText
        let row = "<tr><td>issuer</td><td>foreign</td><td>1</td>"
        let shown = try #require(page.split(separator: "\n").first { $0.contains(row) })
        #expect(shown.contains("</td><td>1</td><td>2</td><td>0</td><td>0</td></tr>"), "\(shown)")
    }

    @Test("an assertion counts before a token, and a bad one is not made good by it")
    func both() throws {
        let site = try Site(Site.keys(key.jwk()))
        let token = try key.token(Site.claims())
        let app = try SimulatedClient.enrolled(site.gateway)
        let fields = try app.signature("GET", "/api/x")
        #expect(try site.send(token, fields: fields).status == 200)
        #expect(site.upstream.requests.last?["X-Attest-Result"] == "verified")
        #expect(site.upstream.requests.last?["X-Attest-Proof"] == nil)
        #expect(try site.send(token, fields: fields).outcome == "401 assertion_replayed")
        let other = try app.signature("GET", "/api/x", fault: .otherKey)
        #expect(try site.send(token, fields: other).outcome == "401 assertion_invalid")
        #expect(try site.send(token).status == 200)
        #expect(try site.send(nil).outcome == "401 assertion_required")
        #expect(site.upstream.requests.count == 2)
        // Nobody would lose access who has an assertion, too.
        let use = try site.status()["proofs"]?.arrayValue?.first?["passed_by_it_alone"]
        #expect(use?.arrayValue?.first?["total"] == .integer(1))
    }

    @Test("what does not hold is refused by its detail, and nothing of it reaches the upstream")
    func refusals() throws {
        let site = try Site(Site.keys(key.jwk()))
        let stranger = try IssuerKey("ES256", in: directory)
        let good = try key.token(Site.claims())
        let confused = IssuerKey.unsigned(#"{"alg":"HS256","kid":"k"}"#, Site.claims())
        let code = HMACSHA256.authenticate(
            Array(confused.utf8), key: HMACKey(try key.publicPEM))
        let cases: [(String, String)] = [
            (confused + "." + Base64.encodeURL(code.array), "proof_algorithm"),
            (IssuerKey.unsigned(#"{"alg":"none"}"#, Site.claims()) + ".AA", "proof_algorithm"),
            (try stranger.token(Site.claims()), "proof_signature"),
            (try key.token(Site.claims(life: -1)), "proof_expired"),
            (try key.token(Site.claims(#","nbf":4102444800"#)), "proof_not_yet_valid"),
            (
                try key.token(#"{"iss":"\#(Site.issuer)","aud":"x","exp":4102444800}"#),
                "proof_audience"
            ),
            (try key.token(#"{"iss":"x","aud":"api","exp":4102444800}"#), "proof_issuer"),
            (
                try key.token(Site.claims(), header: #"{"alg":"ES256","kid":"x"}"#),
                "proof_key_unknown"
            ),
            ("x", "proof_malformed"), (good + "x", "proof_malformed"),
        ]
        for (token, detail) in cases {
            let index = site.gateway.accessLineCount
            #expect(try site.send(token).outcome == "401 token_invalid")
            let line = try site.gateway.accessLine(from: index) {
                $0["reason"]?.stringValue == "token_invalid"
            }
            #expect(line["detail"]?.stringValue == detail)
        }
        let twice = try site.send(good, fields: [("x_issuer_token", good)])
        #expect(twice.outcome == "401 token_invalid")
        #expect(site.upstream.requests.isEmpty)
        let log = site.gateway.current.text(on: .standardOutput)
        #expect(!log.contains(good.suffix(40)) && !log.contains(Site.issuer))
        // Strangers cause no question to the issuer.
        for _ in 0..<200 {
            let token = IssuerKey.unsigned(#"{"alg":"ES256","kid":"y"}"#, "{}") + ".AA"
            #expect(try site.send(token).status == 401)
        }
        #expect(site.issuer.requests.count == 1)
    }

    @Test("min_tier, on_missing, on_invalid and observe say the same about them as about others")
    func policies() throws {
        let token = try key.token(Site.claims())
        let strict = try Site(Site.keys(key.jwk()), attest: "min_tier: device_check")
        #expect(try strict.send(token).outcome == "401 assertion_required")
        let worthy = try Site(
            Site.keys(key.jwk()), attest: "min_tier: device_check", proof: "tier: device_check")
        #expect(try worthy.send(token).status == 200)
        #expect(worthy.upstream.requests.last?["X-Attest-Tier"] == "device_check")
        let lenient = try Site(
            Site.keys(key.jwk()),
            attest: "min_tier: attested, on_lower_tier: pass, on_missing: { limit: few }, "
                + "on_invalid: deny",
            more: ["rate_limits: { few: { by: global, rate: 1/h, burst: 1 } }"])
        #expect(try lenient.send(token).status == 200)
        #expect(lenient.upstream.requests.last?["X-Attest-Result"] == "foreign")
        #expect(try lenient.send(nil).status == 200)
        #expect(try lenient.send(nil).outcome == "429 rate_limited")
        #expect(try lenient.send("x").status == 401)
        let alone = try Site(Site.keys(key.jwk()), accept: "[proof:issuer]", attest: "rollout: 0%")
        #expect(try alone.send("x").status == 200)
        #expect(alone.upstream.requests.last?["X-Attest-Result"] == "unverified")
        #expect(try alone.send(token).status == 200)
        #expect(alone.upstream.requests.last?["X-Attest-Result"] == "foreign")
    }

    @Test("without keys nothing passes, and it does as soon as they are there")
    func outage() throws {
        let site = try Site(.response(503), awaitsKeys: false)
        let token = try key.token(Site.claims())
        try site.gateway.waitForEvent("jwks_down")
        #expect(try site.send(token).outcome == "503 store_unavailable")
        #expect(try site.send("x").outcome == "401 token_invalid")
        let line = try site.gateway.accessLine { $0["detail"]?.stringValue == "proof_keys" }
        #expect(line["reason"]?.stringValue == "store_unavailable")
        let problems = try site.status()["problems"]?.arrayValue ?? []
        #expect(problems.contains { $0["name"] == .string("jwks_missing") })
        // Who brings an assertion does not need them.
        let app = try SimulatedClient.enrolled(site.gateway)
        #expect(try app.request("GET", "/api/x").status == 200)
        let keys = Site.keys(key.jwk())
        site.issuer.answer { _ in keys }
        try site.gateway.waitForEvent("jwks_up")
        #expect(try site.send(token).status == 200)
        // From now on a failure changes nothing.
        for answer in [
            UpstreamAnswer.response(302, fields: [("Location", "/other")]), .dies,
            .response(body: "<html>"), .large(byteCount: 100_000), .response(body: #"{"keys":[]}"#),
        ] {
            site.issuer.answer { _ in answer }
            let count = site.issuer.requests.count
            try site.reload()
            try site.issuer.waitForRequests(count + 1)
            #expect(try site.send(token).status == 200)
        }
        try site.waitForMetric(#"sallyport_jwks_fetches_total{proof="issuer",outcome="refused"}"#) {
            $0 >= 2
        }
        #expect(!site.issuer.requests.contains { $0.target == "/other" })
    }

    @Test("a proxy that asks is told the same")
    func check() throws {
        let port = FreePort.find()
        let site = try Site(
            Site.keys(key.jwk()),
            binds: [GatewayConfiguration.checkListener("nginx", port: port)])
        defer { withExtendedLifetime(site) {} }
        let own = [
            ("X-Original-Method", "GET"), ("X-Original-URI", "/api/x"),
            ("X-Original-Host", "api.example"), ("X-Attest-Proof", "forged"),
        ]
        let token = try key.token(Site.claims())
        let proxy = try RawClient(port: port)
        let allowed = try proxy.exchange(
            "GET", "/check", fields: own + [(Site.header, token)])
        #expect(allowed.status == 200 && allowed["X-Attest-Proof"] == "issuer")
        #expect(allowed["X-Attest-Result"] == "foreign")
        let refused = try proxy.exchange("GET", "/check", fields: own + [(Site.header, "x")])
        #expect(refused.outcome == "401 token_invalid")
    }
}
