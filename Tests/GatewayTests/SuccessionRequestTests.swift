import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import Judgement
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

/// Enrolments with tickets at one gateway.
@Suite("A key that takes the place of another", .timeLimit(.minutes(30)))
struct SuccessionRequestTests {}

extension SuccessionRequestTests {
    private static func ticketBody(_ body: [UInt8], _ ticket: String?) -> [UInt8] {
        guard let ticket else { return body }
        return body.dropLast() + Array(#","installation":"\#(ticket)"}"#.utf8)
    }

    private func enrol(
        _ device: EnrolledDevice, _ ticket: String?, fault: AttestationFault? = nil
    ) throws -> HTTPMessage {
        let body = try device.attestation(
            challenge: device.fetchChallenge("/attest/challenge"), fault: fault)
        return try device.send(
            "POST", "/attest/verify", body: Self.ticketBody(body, ticket))
    }

    /// A device that has enrolled, with the ticket that it got.
    private func enrolled(
        _ gateway: GatewayUnderTest, _ ticket: String? = nil
    ) throws -> (device: EnrolledDevice, ticket: String, answer: HTTPMessage) {
        let device = try EnrolledDevice(gateway, isKnown: false)
        let answer = try enrol(device, ticket)
        try #require(answer.status == 200, "\(answer.bodyText)")
        return (device, try #require(answer.member("installation")), answer)
    }

    private func id(_ device: EnrolledDevice) -> String {
        "\(InstallationID(firstKey: device.device.keyID))"
    }

    @Test("keeps the installation, and the old key works until the new one has signed")
    func inherits() throws {
        let gateway = try GatewayUnderTest()
        let (old, ticket, first) = try enrolled(gateway)
        #expect(first.member("succession") == nil)
        #expect(try old.request("GET", "/attested/x").status == 200)
        #expect(gateway.told("X-Attest-Installation") == id(old))
        let (new, _, answer) = try enrolled(gateway, ticket)
        #expect(answer.member("succession") == "accepted")
        #expect(answer.member("succession_reason") == nil)
        #expect(try old.request("GET", "/attested/x").status == 200)
        #expect(gateway.told("X-Attest-Installation") == id(old))
        #expect(try new.request("GET", "/attested/x").status == 200)
        #expect(gateway.told("X-Attest-Installation") == id(old))
        #expect(gateway.told("X-Attest-Key") == new.device.keyID.base64)
        try waitWhile(gateway.registry.record(of: old.device.keyID)?.status == .active)
        var refused = try old.request("GET", "/attested/x")
        try repeatWhile(refused.status == 200) { refused = try old.request("GET", "/attested/x") }
        #expect(refused.status == 403 && refused.code == "key_revoked")
        // It may have been the owner's, and the ticket stolen.
        #expect(refused.member("action") == "attest_again")
        // A second request asks the registry for nothing.
        let retirements = gateway.registry.calls.count {
            if case .retire = $0 { true } else { false }
        }
        for _ in 0..<3 { #expect(try new.request("GET", "/attested/x").status == 200) }
        #expect(
            gateway.registry.calls.count { if case .retire = $0 { true } else { false } }
                == retirements)
        let lines = try gateway.logLines()
        #expect(lines.contains { $0.contains(#""succession":"accepted""#) })
        #expect(lines.contains { $0.contains(#""detail":"succeeded""#) })
    }

    @Test("the old key is retired by a later request if the registry failed at the first")
    func retiredLater() throws {
        let gateway = try GatewayUnderTest()
        let (old, ticket, _) = try enrolled(gateway)
        let (new, _, _) = try enrolled(gateway, ticket)
        // The key is looked up, and then the registry fails.
        let order = KeyRetirement(predecessor: old.device.keyID, successor: new.device.keyID)
        gateway.registry.failRetirements(true)
        #expect(try new.request("GET", "/attested/x").status == 200)
        try waitWhile(!gateway.registry.calls.contains(.retire(order)))
        #expect(gateway.registry.record(of: old.device.keyID)?.status == .active)
        gateway.registry.failRetirements(false)
        try repeatWhile(gateway.registry.record(of: old.device.keyID)?.status == .active) {
            let status = try new.request("GET", "/attested/x").status
            #expect(status == 200)
        }
    }

    @Test("the second use of a ticket is told to the app, the log, the metric and the signal")
    func usedTwice() throws {
        let gateway = try GatewayUnderTest {
            $0.signals.installationSuccessions = .atMost(1)
        }
        let (old, ticket, _) = try enrolled(gateway)
        _ = try enrolled(gateway, ticket)
        #expect(gateway.hub.logs.eventCounts["signal_raised"] == nil)
        let (loser, own, answer) = try enrolled(gateway, ticket)
        #expect(answer.member("succession") == "refused")
        #expect(answer.member("succession_reason") == "ticket_not_current")
        #expect(try loser.request("GET", "/attested/x").status == 200)
        #expect(gateway.told("X-Attest-Installation") == id(loser))
        #expect(id(loser) != id(old))
        // It has a ticket of its own.
        let (_, _, next) = try enrolled(gateway, own)
        #expect(next.member("succession") == "accepted")
        #expect(gateway.hub.logs.eventCounts["succession_refused"] == 1)
        #expect(gateway.hub.logs.eventCounts["signal_raised"] == 1)
        #expect(gateway.hub.meters[0].raisedCount(.installationSuccessions) == 1)
        let page = try RawClient(port: gateway.adminPort).exchange("GET", "/metrics").bodyText
        #expect(page.contains("sallyport_successions_total{outcome=\"accepted\"} 2\n"))
        #expect(page.contains("sallyport_successions_total{outcome=\"ticket_not_current\"} 1\n"))
    }

    @Test("a rule that denies refuses the enrolment, and the ticket stays good")
    func denied() throws {
        let gateway = try GatewayUnderTest {
            $0.signals.installationSuccessions = .atMost(1, .deny)
        }
        let (_, first, _) = try enrolled(gateway)
        let (_, second, _) = try enrolled(gateway, first)
        let device = try EnrolledDevice(gateway, isKnown: false)
        let refused = try enrol(device, second)
        #expect(refused.status == 403 && refused.code == "abuse_suspected")
        #expect(gateway.registry.record(of: device.device.keyID) == nil)
        // Another installation is not concerned.
        let (_, other, _) = try enrolled(gateway)
        #expect(try enrolled(gateway, other).answer.member("succession") == "accepted")
    }

    @Test("a ticket without an attestation is worth nothing")
    func noAttestation() throws {
        let gateway = try GatewayUnderTest()
        let (old, ticket, _) = try enrolled(gateway)
        let thief = try EnrolledDevice(gateway, isKnown: false)
        let refused = try enrol(thief, ticket, fault: .otherRoot)
        #expect(refused.code == "attestation_invalid")
        #expect(gateway.registry.record(of: thief.device.keyID) == nil)
        #expect(gateway.registry.record(of: old.device.keyID)?.succession == nil)
        #expect(try enrolled(gateway, ticket).answer.member("succession") == "accepted")
    }

    @Test("what is no ticket of this gateway and app begins an installation")
    func invalid() throws {
        let gateway = try GatewayUnderTest()
        let (_, ticket, _) = try enrolled(gateway)
        let last = ticket.hasSuffix("A") ? "B" : "A"
        for text in ["", "x", String(ticket.dropLast()) + last, ticket + "A"] {
            let (device, _, answer) = try enrolled(gateway, text)
            #expect(answer.member("succession") == "refused", "\(text)")
            #expect(answer.member("succession_reason") == "ticket_invalid")
            #expect(try device.request("GET", "/attested/x").status == 200)
            #expect(gateway.told("X-Attest-Installation") == id(device))
        }
        let device = try EnrolledDevice(gateway, isKnown: false)
        let body = try device.attestation(
            challenge: device.fetchChallenge("/attest/challenge"))
        let number = body.dropLast() + Array(#","installation":1}"#.utf8)
        #expect(try device.send("POST", "/attest/verify", body: Array(number)).status == 400)
    }

    @Test("the key of a revoked installation is refused, with any of its tickets")
    func revoked() throws {
        let gateway = try GatewayUnderTest()
        let (old, first, _) = try enrolled(gateway)
        let (new, second, _) = try enrolled(gateway, first)
        #expect(try new.request("GET", "/attested/x").status == 200)
        try waitWhile(gateway.registry.record(of: old.device.keyID)?.status == .active)
        gateway.registry.set(.revoked, of: new.device.keyID)
        for ticket in [first, second] {
            let device = try EnrolledDevice(gateway, isKnown: false)
            let refused = try enrol(device, ticket)
            #expect(refused.status == 403 && refused.code == "installation_revoked")
            #expect(refused.member("action") == "none")
            #expect(gateway.registry.record(of: device.device.keyID) == nil)
        }
    }

    @Test("an enrolment that is repeated says the same, with the old ticket or its own")
    func repeated() throws {
        let gateway = try GatewayUnderTest()
        let (_, first, _) = try enrolled(gateway)
        let (new, second, _) = try enrolled(gateway, first)
        let again = try enrol(new, first)
        #expect(again.member("succession") == "accepted")
        #expect(again.member("installation") == second)
        let own = try enrol(new, second)
        #expect(own.status == 200 && own.member("succession") == nil)
        #expect(own.member("installation") == second)
        #expect(gateway.hub.logs.eventCounts["succession_refused"] == nil)
    }

    @Test("a session token tells the installation, also while the registry does not answer")
    func sessionTokens() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.routes.append(
                GatewayUnderTest.route("tokens", "/tokens/") {
                    $0.mode = .enforce
                    $0.accept = [.assertion, .token]
                    $0.onStoreFailure = .tokensOnly
                })
            settings.keyCache.recordCountMax = 1
        }
        let (old, ticket, _) = try enrolled(gateway)
        let (new, _, _) = try enrolled(gateway, ticket)
        let signed = try new.signedFields("POST", "/assert/token")
        let answer = try new.send("POST", "/assert/token", fields: signed)
        let token = try #require(answer.member("token"))
        let fields = [("X-App-Attest-Token", token)]
        #expect(try new.send("GET", "/tokens/x", fields: fields).status == 200)
        #expect(gateway.told("X-Attest-Installation") == id(old))
        // Another key takes the only place of the cache.
        #expect(try EnrolledDevice(gateway).request("GET", "/attested/x").status == 200)
        gateway.registry.fail("down")
        #expect(try new.send("GET", "/tokens/x", fields: fields).status == 200)
        #expect(gateway.told("X-Attest-Tier") == "token")
        #expect(gateway.told("X-Attest-Installation") == id(old))
    }
}
