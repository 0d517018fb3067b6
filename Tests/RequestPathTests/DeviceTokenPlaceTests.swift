import AppAttestTesting
import Attestation
import GatewayTesting
import JSON
import Testing

/// The rest of what the proof matrix of the gateway's own tests holds: Apple judges these tokens.
@Suite("Tokens of DeviceCheck in other places", .enabled(if: BuiltProgram.isBuilt))
struct DeviceTokenPlaceTests {
    private let upstream: RecordingUpstream
    private let apple: AppleServer

    init() throws {
        upstream = try RecordingUpstream()
        apple = try AppleServer()
    }
}

extension DeviceTokenPlaceTests {
    private func deviceToken() throws -> String {
        try #require(try apple.deviceTokens(device: "phone").first)
    }

    @Test("nothing else passes for a device token, and none for anything else")
    func places() throws {
        var configuration = GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [
                .init("device", path: "/device/*", attest: "mode: enforce, accept: [device_check]"),
                .init("token", path: "/token/*", attest: "mode: enforce, accept: [token]"),
                .init("developer", path: "/dev/*", attest: "mode: enforce, accept: [developer]"),
                .init("api", path: "/api/*", attest: "mode: enforce"),
            ])
        configuration.more = [try apple.settings, "device_check: {}"]
        let gateway = try GatewayProcess(configuration)
        let client = try SimulatedClient.enrolled(gateway)
        let issued = try client.request("POST", "/assert/token")
        let session = try #require(
            try JSONValue.parse(issued.body.span, byteCountMax: 1 << 16, depthMax: 4)["token"]?
                .stringValue)
        let made = try BuiltProgram.run(
            [
                "developer-token", "-c", gateway.configurationPath, "--name", "ci", "--ttl", "1h",
            ])
        let developer = try #require(made.standardOutput.split(separator: "\n").first)
        func present(_ value: String, in field: String, at path: String) throws -> String {
            try gateway.exchange("GET", path, fields: [(field, value)]).outcome
        }
        let others = [
            try client.challenge(), try client.attestationChallenge(), session, String(developer),
            client.device.keyID.base64,
        ]
        for value in others {
            let outcome = try present(value, in: "X-Device-Check-Token", at: "/device/x")
            #expect(outcome == "401 device_token_invalid", "\(value)")
        }
        for path in ["/token/x", "/dev/x"] {
            let outcome = try present(try deviceToken(), in: "X-App-Attest-Token", at: path)
            #expect(outcome == "401 token_invalid")
        }
        let signed = try client.request("GET", "/api/x", challenge: try deviceToken())
        #expect(signed.outcome == "401 challenge_expired")
        let enrolment = try client.enrol(
            try client.enrolmentBody(challenge: String(try deviceToken().prefix(300))))
        #expect(enrolment.status == 401)
        #expect(upstream.requests.isEmpty)
        // Each does in its own place.
        let own = [
            (try deviceToken(), "X-Device-Check-Token", "/device/x"),
            (session, "X-App-Attest-Token", "/token/x"),
            (String(developer), "X-App-Attest-Token", "/dev/x"),
        ]
        for (value, field, path) in own {
            #expect(try present(value, in: field, at: path) == "200", "\(path)")
        }
    }
}
