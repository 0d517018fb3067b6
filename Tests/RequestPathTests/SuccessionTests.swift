import AndroidAttestationTesting
import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// Apps that are installed again, on simulated devices of both platforms.
@Suite("A reinstalled app", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct SuccessionTests {
    private let site: FaultSite
    private let gateway: GatewayProcess

    init() throws {
        site = try FaultSite(admitsPhones: true)
        site.configuration.more = [
            "signals: { successions_per_installation: { max: 1 } }",
            "session_tokens: { ttl: 5m }",
        ]
        gateway = try site.start()
    }
}

extension SuccessionTests {
    enum Platform: String, CaseIterable { case apple, android }

    private func device(_ platform: Platform) throws -> TestDevice {
        switch platform {
        case .apple: .apple(try site.device())
        case .android: .android(try SimulatedPhone.ofTests())
        }
    }

    private func enrol(_ device: TestDevice, _ ticket: String?) throws -> JSONValue {
        let challenge = try gateway.challenge("/attest/challenge")
        var body =
            switch device {
            case .apple(let apple): try site.attestation(apple, challenge: challenge)
            case .android(let phone): try phone.enrolmentBody(challenge: challenge, by: site.google)
            }
        if let ticket { body = body.dropLast() + Array(#","installation":"\#(ticket)"}"#.utf8) }
        let answer = try gateway.exchange("POST", "/attest/verify", body: body)
        try #require(answer.status == 200, "\(answer.bodyText)")
        return try JSONValue.parse(answer.bodyText)
    }

    private func ticket(_ answer: JSONValue) throws -> String {
        try #require(answer["installation"]?.stringValue)
    }

    private func request(_ device: TestDevice) throws -> HTTPMessage {
        try device.call("strict", challenge: gateway.challenge()).exchange(with: gateway)
    }

    /// The installation of the last request that the upstream got.
    private var told: String? { site.upstream.requests.last?["X-Attest-Installation"] }

    private func show(_ device: TestDevice) throws -> JSONValue {
        let outcome = try BuiltProgram.run(
            ["keys", "show", "-c", gateway.configurationPath, device.keyID.base64])
        try #require(outcome.status == .exited(0), "\(outcome.standardError)")
        return try JSONValue.parse(outcome.standardOutput)
    }

    @Test(
        "goes on as the same installation, its old key is retired, and a ticket is used once",
        arguments: Platform.allCases)
    func reinstall(platform: Platform) throws {
        let old = try device(platform)
        let first = try ticket(try enrol(old, nil))
        #expect(try request(old).status == 200)
        let installation = try #require(told)
        #expect(installation.count == 32)

        let new = try device(platform)
        let answer = try enrol(new, first)
        #expect(answer["succession"]?.stringValue == "accepted")
        #expect(try request(old).status == 200)
        #expect(told == installation)
        // Killed before the new key has signed: nothing is forgotten.
        try gateway.restart(byKill: true)
        #expect(try request(new).status == 200)
        #expect(told == installation)
        var refused = try request(old)
        try repeatWhile(refused.status == 200) { refused = try request(old) }
        #expect(refused.outcome == "403 key_revoked")
        #expect(try request(new).status == 200)

        let shown = try show(new)
        #expect(shown["installation"]?.stringValue == installation)
        #expect(shown["succession"]?["predecessor"]?.stringValue == old.keyID.base64)
        let former = try show(old)
        #expect(former["status"]?.stringValue == "revoked")
        #expect(former["succession"]?["successor"]?.stringValue == new.keyID.base64)
        #expect(former["succession"]?["retired"] == .bool(true))

        // The ticket was stolen, too.
        let thief = try device(platform)
        let again = try enrol(thief, first)
        #expect(again["succession_reason"]?.stringValue == "ticket_not_current")
        _ = try gateway.waitForEvent("succession_refused")
        #expect(try request(thief).status == 200)
        #expect(told != installation)
        // A kill after the retirement undoes nothing.
        try gateway.restart(byKill: true)
        #expect(try request(old).outcome == "403 key_revoked")
        #expect(try request(new).status == 200)
        #expect(told == installation)
        let audit = try BuiltProgram.run(["audit", "-c", gateway.configurationPath])
        let entries = audit.standardOutput.split(separator: "\n").filter {
            $0.contains("succeeded by \(new.keyID.base64)")
        }
        #expect(entries.count == 1, "\(audit.standardOutput)\(audit.standardError)")
    }

    @Test("the old key, once revoked, leads an operator to the new one")
    func revokedOldKey() throws {
        let old = try device(.apple)
        let new = try device(.apple)
        _ = try enrol(new, try ticket(try enrol(old, nil)))
        #expect(try request(new).status == 200)
        let installation = try #require(told)
        func revoke(_ words: String...) throws -> String {
            let outcome = try BuiltProgram.run(
                ["keys", "revoke", "-c", gateway.configurationPath] + words)
            #expect(outcome.status == .exited(0), "\(outcome.standardError)")
            return outcome.standardOutput
        }
        let (oldID, newID) = (old.keyID.base64, new.keyID.base64)
        #expect(
            try revoke(oldID).hasSuffix(
                "; its installation \(installation) has the newer key \(newID)\n"))
        let line = try JSONValue.parse(try revoke(oldID, "--json"))
        #expect(line["newer_key"]?.stringValue == newID)
        #expect(line["installation"]?.stringValue == installation)
        // Together with the new one, nothing is left to name.
        #expect(
            try revoke(oldID, newID) == "\(oldID): was not active\n\(newID): revoked\n")
    }

    @Test("uses no ticket of another platform or with a damaged seal")
    func otherTickets() throws {
        let phone = try device(.android)
        let tickets = try ticket(try enrol(phone, nil))
        let crossed = try enrol(try device(.apple), tickets)
        #expect(crossed["succession_reason"]?.stringValue == "ticket_invalid")
        let damaged = String(tickets.dropLast(2)) + (tickets.hasSuffix("AA") ? "BA" : "AA")
        let answer = try enrol(try device(.android), damaged)
        #expect(answer["succession_reason"]?.stringValue == "ticket_invalid")
        // Nothing of this has spent it.
        #expect(try enrol(try device(.android), tickets)["succession"]?.stringValue == "accepted")
    }

    @Test("is refused if an operator has revoked its installation")
    func revoked() throws {
        let old = try device(.apple)
        let first = try ticket(try enrol(old, nil))
        let outcome = try BuiltProgram.run(
            ["keys", "revoke", "-c", gateway.configurationPath, old.keyID.base64])
        try #require(outcome.status == .exited(0), "\(outcome.standardError)")
        let apple = try site.device()
        let body = try site.attestation(
            apple, challenge: gateway.challenge("/attest/challenge"))
        let answer = try gateway.exchange(
            "POST", "/attest/verify",
            body: body.dropLast() + Array(#","installation":"\#(first)"}"#.utf8))
        #expect(answer.outcome == "403 installation_revoked")
    }
}
