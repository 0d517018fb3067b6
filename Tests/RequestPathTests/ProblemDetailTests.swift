import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("problem_detail", .enabled(if: BuiltProgram.isBuilt))
struct ProblemDetailTests {
    private static let otherAppID = "ABCDE12345.com.example.other"
    private let upstream: RecordingUpstream

    init() throws { upstream = try RecordingUpstream() }
}

extension ProblemDetailTests {
    /// Production keys only. `onListener`: whether refusals tell the cause.
    private func gateway(onListener: Bool, onRoute: Bool = false) throws -> GatewayProcess {
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port,
            attest: "mode: enforce, apps: [\(GatewayConfiguration.appID)]")
        configuration.apps = ["{ id: \(GatewayConfiguration.appID), environments: [production] }"]
        configuration.apps.append("{ id: \(Self.otherAppID), environments: [production] }")
        if onListener { configuration.listenerMore = ["problem_detail: true"] }
        if onRoute { configuration.routes[0].more = ["problem_detail: true"] }
        return try GatewayProcess(configuration)
    }

    /// The status page shows what the client was told, not what its reason says of itself.
    private func expectAction(_ gateway: GatewayProcess, _ answer: HTTPMessage) throws {
        let id = try #require(answer["X-Request-Id"])
        let kept = try JSONValue.parse(gateway.admin("/refusals.json?id=\(id)").bodyText)
        #expect(kept["refusal"]?["action"]?.stringValue == answer.action)
    }

    private func problem(_ answer: HTTPMessage) throws -> JSONValue {
        try JSONValue.parse(answer.bodyText)
    }

    /// The same in every case: the log knows why, whoever else does.
    private func expectLine(
        _ gateway: GatewayProcess, _ reason: String, _ detail: String
    ) throws {
        let line = try gateway.accessLine { $0["detail"]?.stringValue == detail }
        #expect(line["reason"]?.stringValue == reason)
    }

    @Test("a development build at a production app: environment_not_allowed, where it is on")
    func environment() throws {
        for isOn in [true, false] {
            let gateway = try gateway(onListener: isOn)
            let device = try SimulatedDevice(
                appID: GatewayConfiguration.appID, environment: .development)
            let answer = try SimulatedClient(gateway, device: device).enrol()
            #expect(answer.status == 403)
            #expect(answer.code == (isOn ? "environment_not_allowed" : "attestation_invalid"))
            #expect(answer.action == (isOn ? "none" : "attest_again"))
            let problem = try problem(answer)
            #expect(problem["cause"]?.stringValue == (isOn ? "environment_not_allowed" : nil))
            #expect(problem["detail"]?.stringValue?.contains("environment") == (isOn ? true : nil))
            try expectLine(gateway, "attestation_invalid", "environment_not_allowed")
            try expectAction(gateway, answer)
        }
    }

    @Test("a wrong App ID: app_mismatch, where it is on")
    func app() throws {
        for isOn in [true, false] {
            let gateway = try gateway(onListener: isOn)
            let device = try SimulatedDevice(appID: "ABCDE12345.com.example.unknown")
            let answer = try SimulatedClient(gateway, device: device).enrol()
            #expect(answer.status == 403)
            #expect(answer.code == (isOn ? "app_mismatch" : "attestation_invalid"))
            #expect(answer.action == (isOn ? "none" : "attest_again"))
            try expectLine(gateway, "attestation_invalid", "app_mismatch")
        }
    }

    @Test("another configured app at a route that is not for it: app_mismatch, where it is on")
    func route() throws {
        for isOn in [true, false] {
            let gateway = try gateway(onListener: false, onRoute: isOn)
            let device = try SimulatedDevice(appID: Self.otherAppID)
            let client = try SimulatedClient.enrolled(gateway, device: device)
            let answer = try client.request("GET", "/api/x")
            #expect(answer.status == 403)
            #expect(answer.code == (isOn ? "app_mismatch" : "distribution_not_allowed"))
            #expect(answer.action == "none")
            #expect(try problem(answer)["cause"]?.stringValue == (isOn ? "app_mismatch" : nil))
            try expectLine(gateway, "distribution_not_allowed", "app_mismatch")
        }
    }

    @Test("a key of the other environment at a route: environment_not_allowed, where it is on")
    func routeEnvironment() throws {
        for isOn in [true, false] {
            var configuration = GatewayConfiguration.enforcing(
                upstreamPort: upstream.port, attest: "mode: enforce, environments: [production]")
            configuration.routes[0].more = ["problem_detail: \(isOn)"]
            let gateway = try GatewayProcess(configuration)
            let device = try SimulatedDevice(
                appID: GatewayConfiguration.appID, environment: .development)
            let client = try SimulatedClient.enrolled(gateway, device: device)
            let answer = try client.request("GET", "/api/x")
            #expect(answer.status == 403)
            #expect(answer.code == (isOn ? "environment_not_allowed" : "distribution_not_allowed"))
            #expect(answer.action == "none")
            try expectLine(gateway, "distribution_not_allowed", "environment")
            // A reload changes what is told.
            configuration.routes[0].more = ["problem_detail: \(!isOn)"]
            #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
            try client.connect()
            let changed = try client.request("GET", "/api/x")
            #expect(changed.code == (isOn ? "distribution_not_allowed" : "environment_not_allowed"))
        }
    }

    @Test("an assertion of another app than its key: app_mismatch, where it is on")
    func assertion() throws {
        for isOn in [true, false] {
            let gateway = try gateway(onListener: isOn)
            let client = try SimulatedClient.enrolled(gateway)
            let answer = try client.request("GET", "/api/x", fault: .otherApp)
            #expect(answer.status == 401)
            #expect(answer.code == (isOn ? "app_mismatch" : "assertion_invalid"))
            #expect(answer.action == (isOn ? "none" : "sign_again"))
            let code = isOn ? "app_mismatch" : "assertion_invalid"
            #expect(answer["WWW-Authenticate"] == "AppAttest error=\"\(code)\"")
            try expectLine(gateway, "assertion_invalid", "app_mismatch")
            try expectAction(gateway, answer)
        }
    }

    @Test("any other refusal keeps its code, and tells cause and meaning")
    func others() throws {
        let gateway = try gateway(onListener: true)
        let client = try SimulatedClient.enrolled(gateway)
        let answer = try client.request("GET", "/api/x", fault: .otherKey)
        #expect(answer.outcome == "401 assertion_invalid")
        #expect(answer.action == "sign_again")
        #expect(answer["WWW-Authenticate"] == #"AppAttest error="assertion_invalid""#)
        let told = try problem(answer)
        #expect(told["cause"]?.stringValue == "signature_invalid")
        #expect(told["detail"]?.stringValue?.contains("signature") == true)
        #expect(told["request_id"]?.stringValue == answer["X-Request-Id"])
        let missing = try problem(try client.raw.exchange("GET", "/api/x"))
        #expect(missing["cause"] == nil)
        #expect(missing["detail"]?.stringValue?.contains("assertion") == true)
        // What the gateway explains to everybody is said as before.
        let bad = try problem(try client.enrol(Array("{}".utf8)))
        #expect(bad["detail"]?.stringValue == "key_id and challenge must be strings.")
        #expect(bad["cause"]?.stringValue == "members")
        let malformed = try problem(try gateway.exchange("GET", "/a/../b"))
        #expect(malformed["cause"]?.stringValue == "dot_segment")
        #expect(gateway.alarms.isEmpty)
    }

    @Test("of a route, tells nothing about others, nor before the route is known")
    func onlyThere() throws {
        let gateway = try gateway(onListener: false, onRoute: true)
        let client = try SimulatedClient(gateway)
        let refused = try problem(try client.raw.exchange("GET", "/api/x"))
        #expect(refused["detail"] != nil)
        let enrolment = try problem(try client.enrol(fault: .otherNonce))
        #expect(enrolment["cause"] == nil && enrolment["detail"] == nil)
        let path = try problem(try gateway.exchange("GET", "/a//../b"))
        #expect(path["cause"] == nil)
    }

    @Test("is warned about by check and by every start and reload")
    func warnings() throws {
        let gateway = try gateway(onListener: true, onRoute: true)
        let event = try gateway.waitForEvent("problem_detail")
        #expect(event["level"]?.stringValue == "warning")
        #expect(event["message"]?.stringValue?.hasPrefix("listeners[0], route api: ") == true)
        let outcome = try BuiltProgram.run(["check", "-c", gateway.configurationPath])
        #expect(outcome.status == .exited(0))
        let warnings = outcome.standardError.split(separator: "\n")
            .filter { $0.contains("problem_detail: ") && $0.contains("not for production") }
        #expect(warnings.count == 2)
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let bad = try gateway.reload(text: text.replacing("detail: true", with: "detail: maybe"))
        #expect(bad["event"]?.stringValue == "reload_failed")
    }
}
