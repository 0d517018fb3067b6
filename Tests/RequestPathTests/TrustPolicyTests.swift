import AppAttest
import AppAttestTesting
import Attestation
import GatewayTesting
import JSON
import Testing

@Suite("Tiers, categories and versions", .enabled(if: BuiltProgram.isBuilt))
struct TrustPolicyTests {
    private let upstream: RecordingUpstream

    init() throws { upstream = try RecordingUpstream() }
}

extension TrustPolicyTests {
    private func start(_ attest: String, more: [String] = []) throws -> GatewayProcess {
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: attest)
        configuration.more = more
        configuration.speakHTTP2()
        return try GatewayProcess(configuration)
    }

    private func device(
        _ system: SimulatedSystem, version: String = "1",
        _ category: ValidationCategory = .appStore,
        environment: AttestEnvironment = .production
    ) throws -> SimulatedDevice {
        try SimulatedDevice(
            appID: GatewayConfiguration.appID, environment: environment, system: system,
            bundleVersion: version, validationCategory: category.rawValue)
    }

    private func outcome(_ gateway: GatewayProcess, _ device: SimulatedDevice) throws -> String {
        try SimulatedClient.enrolled(gateway, device: device).request("GET", "/api/x").outcome
    }

    @Test("only what came by the named way passes, and whether the silent do is said too")
    func categories() throws {
        let strict = try start(
            "mode: enforce, categories: { only: [app_store] }, environments: [production]")
        #expect(try outcome(strict, try device(.iOS27)) == "200")
        #expect(try outcome(strict, try device(.iOS27FlagClear)) == "200")
        #expect(try outcome(strict, try device(.macOS27)) == "200")
        let denied = "403 distribution_not_allowed"
        #expect(try outcome(strict, try device(.iOS27, .testFlight)) == denied)
        #expect(try outcome(strict, try device(.iOS27Integer, .enterprise)) == denied)
        #expect(try outcome(strict, try device(.iOS26)) == denied)
        #expect(try outcome(strict, try device(.iOS27, environment: .development)) == denied)
        #expect(upstream.requests.map { $0["X-Attest-Category"] } == ["4", "4", "4"])
        let line = try strict.accessLine { $0["detail"]?.stringValue == "category_missing" }
        #expect(line["decision"]?.stringValue == "refused")
        let lenient = try start(
            "mode: enforce, categories: { only_or_missing: [app_store, testflight] }")
        #expect(try outcome(lenient, try device(.iOS26)) == "200")
        #expect(try outcome(lenient, try device(.iOS14)) == "200")
        #expect(try outcome(lenient, try device(.iOS27, .testFlight)) == "200")
        #expect(try outcome(lenient, try device(.iOS27, .developerID)) == denied)
    }

    @Test("an old version is told to update, an older one has to, in HTTP/2 as well")
    func versions() throws {
        let gateway = try start(
            "mode: enforce, min_bundle_version: { min: '4.10', grace: '4.2', missing: pass }")
        #expect(try outcome(gateway, try device(.iOS27, version: "4.10")) == "200")
        let refused = try SimulatedClient.enrolled(
            gateway, device: try device(.iOS27, version: "4.1")
        ).request("GET", "/api/x")
        #expect(refused.outcome == "403 app_outdated")
        #expect(refused.action == "update_app")
        #expect(try outcome(gateway, try device(.iOS26)) == "200")
        let client = try SimulatedClient.enrolled(
            gateway, device: try device(.iOS27, version: "4.9"))
        let first = try client.request("GET", "/api/x")
        #expect(first.status == 200)
        #expect(first["X-App-Attest-Action"] == "update_app")
        let fields = try client.signature("GET", "/api/x").map { ($0.0.lowercased(), $0.1) }
        let second = try HTTP2Client(port: gateway.port).exchange(
            1, "GET", "/api/x", fields: fields)
        #expect(second.status == 200)
        let told = second.fields.filter { $0.name == "x-app-attest-action" }.map(\.value)
        #expect(told == ["update_app"])
        #expect(
            upstream.requests.map { $0["X-Attest-Outdated"] } == [nil, nil, "true", "true"])
        // What has its line was counted.
        var ended: Set<String> = []
        _ = try gateway.accessLine { line in
            if line["route"]?.stringValue == "api", let id = line["request_id"]?.stringValue {
                ended.insert(id)
            }
            return ended.count == 5
        }
        let metrics = try gateway.admin("/metrics").bodyText
        #expect(metrics.contains(#"sallyport_outdated_requests_total{route="api"} 2"#))
        #expect(
            metrics.contains(#"sallyport_tier_requests_total{route="api",tier="attested"} 5"#))
        #expect(
            metrics.contains(
                #"sallyport_requests_total{route="api",decision="refused",reason="app_outdated"} 1"#
            ))
    }

    @Test("what is missing passes within its limit, what is invalid does not")
    func missing() throws {
        let gateway = try start(
            "mode: enforce, on_missing: { limit: strangers }, on_invalid: deny",
            more: ["rate_limits: { strangers: { by: global, rate: 1/h, burst: 2 } }"])
        let client = try SimulatedClient.enrolled(gateway)
        for _ in 0..<2 { #expect(try client.raw.exchange("GET", "/api/x").status == 200) }
        let limited = try client.raw.exchange("GET", "/api/x")
        #expect(limited.outcome == "429 rate_limited")
        #expect(limited["Retry-After"] != nil)
        #expect(try client.request("GET", "/api/x", fault: .otherKey).status == 401)
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(
            upstream.requests.map { $0["X-Attest-Result"] } == ["missing", "missing", "verified"])
        #expect(upstream.requests.map { $0["X-Attest-Tier"] } == ["none", "none", "attested"])
        let line = try gateway.accessLine { $0["decision"]?.stringValue == "limited" }
        #expect(line["reason"]?.stringValue == "assertion_required")
        #expect(line["tier"]?.stringValue == "none")
    }

    @Test("what is missing passes from an address that its limit excepts, and from no other")
    func exempt() throws {
        for (exempt, outcomes) in [
            ("127.0.0.0/8", [200, 200, 200]), ("10.0.0.0/8", [200, 429, 429]),
        ] {
            let limit = "{ by: address, rate: 1/h, burst: 1, except: [\(exempt)] }"
            let gateway = try start(
                "mode: enforce, on_missing: { limit: strangers }",
                more: ["rate_limits: { strangers: \(limit) }"])
            let socket = try RawClient(port: gateway.port)
            let statuses = try outcomes.map { _ in
                try socket.exchange("GET", "/api/x").status
            }
            #expect(statuses == outcomes)
        }
    }

    @Test("a Mac without Full Security enrols where the app does not mind, a phone anywhere")
    func macs() throws {
        func start(_ requires: Bool) throws -> GatewayProcess {
            var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
            let macs = "{ require_full_security: \(requires) }"
            configuration.apps = ["{ id: \(GatewayConfiguration.appID), macos: \(macs) }"]
            return try GatewayProcess(configuration)
        }
        let strict = try start(true)
        let refused = try SimulatedClient(strict, device: try device(.macOS27)).enrol()
        #expect(refused.outcome == "403 attestation_invalid")
        #expect(refused.action == "none")
        let line = try strict.accessLine { $0["detail"]?.stringValue == "mac_security_reduced" }
        #expect(line["reason"]?.stringValue == "attestation_invalid")
        #expect(try outcome(strict, try device(.iOS27)) == "200")
        #expect(try outcome(strict, try device(.iOS14)) == "200")
        let lenient = try start(false)
        #expect(try outcome(lenient, try device(.macOS27)) == "200")
        _ = try lenient.accessLine { $0["mac_security"]?.stringValue == "reduced" }
        #expect(
            try lenient.metric(#"sallyport_mac_enrolments_total{security="reduced"}"#) == 1)
    }

    @Test("a developer's token is made by the command, warned of, counted and taken back")
    func developerToken() throws {
        let attest =
            "mode: enforce, accept: [assertion, developer], categories: { only: [app_store] }"
        let gateway = try start(attest)
        _ = try gateway.waitForEvent("developer_tokens")
        let path = gateway.configurationPath
        func make(_ words: String...) throws -> (token: String, told: String, status: Int32?) {
            let run = try BuiltProgram.run(["developer-token", "-c", path] + words)
            let token = run.standardOutput.split(separator: "\n").first.map(String.init) ?? ""
            guard case .exited(let status) = run.status else { return (token, "", nil) }
            return (token, run.standardError, status)
        }
        let made = try make("--name", "ci", "--ttl", "1h", "--routes", "api")
        #expect(made.status == 0)
        #expect(made.told.contains("developer token ci, id "))
        let fields = [("X-App-Attest-Token", made.token)]
        #expect(try gateway.exchange("GET", "/api/x", fields: fields).status == 200)
        #expect(upstream.requests.last?["X-Attest-Result"] == "developer")
        #expect(upstream.requests.last?["X-App-Attest-Token"] == nil)
        let line = try gateway.accessLine { $0["developer_token"]?.stringValue == "ci" }
        #expect(line["decision"]?.stringValue == "developer")
        #expect(try gateway.metric("sallyport_developer_token_requests_total") == 1)
        #expect(try gateway.metric("sallyport_developer_token_routes") == 1)
        let doctor = try BuiltProgram.run(["doctor", "-c", path]).standardOutput
        #expect(doctor.contains("warn  developer tokens: accepted by api"))
        for words in [
            ["--name", "ci", "--ttl", "721h"], ["--name", "ci", "--ttl", "0s"],
            ["--name", "a b", "--ttl", "1h"], ["--name", "ci", "--ttl", "1h", "--routes", "rest"],
            ["--name", "ci", "--ttl", "1h", "--tier", "attested"], ["--name", "ci"],
            ["--name", "ci", "--ttl", "1h", "--app", "ABCDE12345.com.example.nobody"],
        ] {
            let run = try BuiltProgram.run(["developer-token", "-c", path] + words)
            #expect(run.status == .exited(2), "\(words)")
            #expect(run.standardOutput.isEmpty)
        }
        var revoking = GatewayConfiguration.enforcing(upstreamPort: upstream.port, attest: attest)
        revoking.speakHTTP2()
        revoking.more = ["developer_tokens: { revoked: [ci] }"]
        let said = gateway.current.lines(on: .standardError).count
        try gateway.reload(revoking)
        _ = try gateway.waitForEvent("extra_roots", from: said)
        _ = try gateway.waitForEvent("developer_tokens", from: said)
        let refused = try gateway.exchange("GET", "/api/x", fields: fields)
        #expect(refused.outcome == "401 token_invalid")
        let other = try make("--name", "simulators", "--ttl", "30m", "--tier", "none")
        let plain = [("X-App-Attest-Token", other.token)]
        #expect(try gateway.exchange("GET", "/api/x", fields: plain).status == 200)
        #expect(upstream.requests.last?["X-Attest-Tier"] == "none")
    }

    @Test("the commands tell what a route demands")
    func commands() throws {
        let gateway = try start(
            "mode: enforce, accept: [assertion, token], min_tier: attested, on_lower_tier: "
                + "{ limit: slow }, on_missing: pass, environments: [production], categories: "
                + "{ only_or_missing: [app_store] }, min_bundle_version: { min: 4.2, grace: 4 }, "
                + "risk: { max: 5 }",
            more: ["rate_limits: { slow: { by: key, rate: 1/h } }"])
        let path = gateway.configurationPath
        let told = try BuiltProgram.run(["route", "-c", path, "GET", "/api/x"]).standardOutput
        for line in [
            "without a proof pass, with a bad one deny",
            "tier attested at least, below it limit slow", "environments production",
            "categories app_store, or not told", "bundle version 4.2 at least, refused before 4",
            "without a bundle version deny", "risk metric 5 at most, above it observe",
        ] {
            #expect(told.contains("  \(line)\n"), "\(line)\n\(told)")
        }
        let own = try BuiltProgram.run(["route", "-c", path, "POST", "/assert/token"])
        #expect(own.standardOutput.contains("answered by the gateway itself: assert/token\n"))
        let other = try BuiltProgram.run(["route", "-c", path, "GET", "/identity/jwks.json"])
        #expect(!other.standardOutput.contains("itself"))
        let printed = try BuiltProgram.run(["check", "-c", path, "--print"]).standardOutput
        #expect(printed.contains("      on_lower_tier:\n        limit: slow\n"))
        let checked = try BuiltProgram.run(["check", "-c", path])
        #expect(checked.standardError.contains("on_missing: pass lets anyone who sends no proof"))
    }
}
