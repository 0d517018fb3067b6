import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("Enrolment", .enabled(if: BuiltProgram.isBuilt))
struct EnrolmentTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
    }
}

extension EnrolmentTests {
    @Test("takes every form of attestation, and the same one again")
    func everySystem() throws {
        for system in SimulatedSystem.allCases {
            let device = try SimulatedDevice(appID: GatewayConfiguration.appID, system: system)
            let client = try SimulatedClient(gateway, device: device)
            let body = try client.enrolmentBody(challenge: client.attestationChallenge())
            for _ in 0..<2 {
                let answer = try client.enrol(body)
                #expect(answer.status == 200, "\(system): \(answer.bodyText)")
                let text = try JSONValue.parse(answer.bodyText)
                #expect(text["status"]?.stringValue == "attested")
                #expect(text["key_id"]?.stringValue == device.keyID.base64)
                #expect(text["environment"]?.stringValue == "production")
                #expect(answer["Cache-Control"] == "no-store")
            }
            #expect(try client.request("GET", "/api/x").status == 200, "\(system)")
        }
        #expect(gateway.alarms.isEmpty)
    }

    @Test("refuses every single fault, and enrols nobody by it")
    func everyFault() throws {
        for fault in AttestationFault.allCases where fault != .otherEnvironment {
            let client = try SimulatedClient(gateway)
            let answer = try client.enrol(fault: fault)
            #expect(answer.outcome == "403 attestation_invalid", "\(fault)")
            #expect(answer.action == "attest_again", "\(fault)")
            #expect(!answer.bodyText.contains(fault.code), "the detail is not the client's")
            let line = try gateway.accessLine { $0["detail"]?.stringValue == fault.code }
            #expect(line["reason"]?.stringValue == "attestation_invalid")
        }
        let stranger = try SimulatedClient(gateway)
        try stranger.enrol(fault: .otherNonce)
        #expect(try stranger.request("GET", "/api/x").outcome == "401 key_unknown")
        #expect(upstream.requests.isEmpty)
    }

    @Test("refuses a development key where only production is allowed")
    func environment() throws {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.apps = ["{ id: \(GatewayConfiguration.appID), environments: [production] }"]
        let strict = try GatewayProcess(configuration)
        let device = try SimulatedDevice(
            appID: GatewayConfiguration.appID, environment: .development)
        let refused = try SimulatedClient(strict, device: device)
        #expect(try refused.enrol().outcome == "403 attestation_invalid")
        let accepted = try SimulatedClient(gateway, device: device)
        #expect(try accepted.enrol().bodyText.contains("development"))
    }

    @Test("gives challenges as text or as JSON, never twice the same, never to be stored")
    func challenges() throws {
        for target in ["/attest/challenge", "/assert/challenge"] {
            let plain = try gateway.exchange("GET", target)
            #expect(plain["Content-Type"]?.hasPrefix("text/plain") == true)
            #expect(plain["Cache-Control"] == "no-store")
            #expect(plain.body.count >= 22)
            #expect(plain.body.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            let posted = try gateway.exchange("POST", target)
            #expect(posted.status == 200)
            #expect(posted.body != plain.body)
            let json = try gateway.exchange(
                "GET", target, fields: [("Accept", "application/json")])
            let value = try JSONValue.parse(json.bodyText)
            #expect(value["challenge"]?.stringValue != nil)
            #expect((value["expires_in"]?.integerValue ?? 0) > 0)
            #expect(try gateway.exchange("DELETE", target).status == 405)
        }
        #expect(upstream.requests.isEmpty)
    }

    @Test("takes a challenge only for its own purpose and its own key")
    func purposes() throws {
        let client = try SimulatedClient(gateway)
        let other = try SimulatedClient(gateway)
        let forAssertions = try client.enrolmentBody(challenge: client.challenge())
        #expect(try client.enrol(forAssertions).outcome == "401 challenge_expired")
        let ofAnother = try client.enrolmentBody(challenge: other.attestationChallenge())
        #expect(try client.enrol(ofAnother).outcome == "401 challenge_expired")
        let invented = try client.enrolmentBody(challenge: String(repeating: "A", count: 120))
        #expect(try client.enrol(invented).outcome == "401 challenge_expired")
        try client.enrol()
        let wrong = try client.request(
            "GET", "/api/x", challenge: try client.attestationChallenge())
        #expect(wrong.outcome == "401 challenge_expired")
    }

    @Test("answers garbage with what is wrong, and goes on")
    func garbage() throws {
        let client = try SimulatedClient(gateway)
        let bodies = [
            "", "{", "[]", "null", "{}", #"{"key_id":1,"attestation":2,"challenge":3}"#,
            #"{"key_id":"AAAA","attestation":"AAAA","challenge":"AAAA"}"#,
            #"{"key_id":"\#(client.device.keyID.base64)","attestation":"*","challenge":"AAAA"}"#,
            #"{"key_id":"a","key_id":"b","attestation":"AAAA","challenge":"AAAA"}"#,
        ]
        for body in bodies {
            #expect(try client.enrol(Array(body.utf8)).status == 400, "\(body)")
        }
        let challenge = try client.attestationChallenge()
        for attestation in [[], [0xFF], [UInt8](repeating: 0x9F, count: 5000)] {
            let body = client.enrolmentBody(attestation: attestation, challenge: challenge)
            #expect(try client.enrol(body).outcome == "403 attestation_invalid")
        }
        try client.connect()
        let tooLong = try client.enrol([UInt8](repeating: 0x20, count: 200_000))
        #expect(tooLong.outcome == "413 body_too_large")
        try client.connect()
        #expect(try client.enrol().status == 200)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("brings the next challenge with the enrolment's answer")
    func nextChallenge() throws {
        let client = try SimulatedClient(gateway)
        let challenge = try #require(try client.enrol().nextChallenge)
        let answer = try client.request("GET", "/api/x", challenge: challenge)
        #expect(answer.status == 200)
        #expect(try #require(answer.nextChallenge) != challenge)
    }

    @Test("lives below endpoints.base, and nowhere else")
    func base() throws {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.more = ["endpoints: { base: /gate/ }"]
        let moved = try GatewayProcess(configuration)
        let client = try SimulatedClient(moved)
        client.base = "/gate/"
        #expect(try client.enrol().status == 200)
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(try client.raw.exchange("GET", "/assert/challenge").bodyText == "hello\n")
    }
}
