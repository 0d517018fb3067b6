import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import GatewayTesting
import KeyStore
import Settings
import Testing

@testable import Gateway

@Suite("Enrolment of Android keys")
struct AndroidEnrolmentTests {}

extension AndroidEnrolmentTests {
    @Test("a phone's key is enrolled with what its chain says", arguments: [false, true])
    func enrolment(isStrongBox: Bool) throws {
        let gateway = try PhoneClient.gateway()
        let phone = try PhoneClient(gateway) {
            if isStrongBox { $0.securityLevel = .strongBox }
        }
        let answer = try phone.enrol()
        #expect(answer.status == 200, "\(answer.bodyText)")
        #expect(answer.member("environment") == "production")
        let record = try #require(gateway.registry.record(of: phone.phone.keyID))
        #expect(record.platform == .android && record.appID == PhoneClient.package)
        #expect(record.securityLevel == (isStrongBox ? .strongbox : .tee))
        let line = try #require(gateway.logLines().first { $0.contains("provisioning") })
        #expect(line.contains(#""provisioning":"factory""#))
        #expect(line.contains(#""platform":"android""#))
    }

    @Test("the request path takes its key, and tells the upstream what it is")
    func headers() throws {
        let gateway = try PhoneClient.gateway()
        let phone = try PhoneClient(gateway) { $0.securityLevel = .strongBox }
        try #require(phone.enrol().status == 200)
        #expect(try phone.request("POST", "/attested/x", body: [1, 2]).status == 200)
        #expect(gateway.told("X-Attest-Platform") == "android")
        #expect(gateway.told("X-Attest-Security-Level") == "strongbox")
        #expect(gateway.told("X-Attest-App") == PhoneClient.package)
        #expect(gateway.told("X-Attest-Tier") == "attested")
        let apple = try EnrolledDevice(gateway)
        #expect(try apple.request("GET", "/attested/x").status == 200)
        #expect(gateway.told("X-Attest-Platform") == "apple")
        #expect(gateway.told("X-Attest-Security-Level") == nil)
    }

    @Test("a challenge is spent by the first request that brings it")
    func replay() throws {
        let gateway = try PhoneClient.gateway()
        let phone = try PhoneClient(gateway)
        try #require(phone.enrol().status == 200)
        for path in ["/attested/x", "/window/x"] {
            let fields = try phone.fields("GET", path)
            #expect(try phone.client.exchange("GET", path, fields: fields).status == 200)
            #expect(
                try phone.client.exchange("GET", path, fields: fields).code
                    == "assertion_replayed")
        }
        #expect(try phone.request("GET", "/unchallenged/x").code == "challenge_required")
        #expect(gateway.upstream.requests.count == 2)
    }

    @Test(
        "every fault of a chain is refused, and the log says which",
        arguments: AndroidFault.allCases)
    func faults(fault: AndroidFault) throws {
        let gateway = try PhoneClient.gateway()
        let phone = try PhoneClient(gateway)
        let answer = try phone.enrol(fault: fault)
        #expect((400..<500).contains(answer.status), "\(fault): \(answer.bodyText)")
        #expect(gateway.registry.record(of: phone.phone.keyID) == nil)
    }

    @Test("what the app demands is demanded")
    func demands() throws {
        let gateway = try PhoneClient.gateway(
            demands: AndroidDemands(
                signingDigests: [PhoneClient.digest], securityLevel: .strongBox))
        #expect(try PhoneClient(gateway).enrol().code == "attestation_invalid")
        let strong = try PhoneClient(gateway) { $0.securityLevel = .strongBox }
        #expect(try strong.enrol().status == 200)
    }

    @Test("no key enrols without a list of withdrawn certificates, and enrolled ones go on")
    func revocations() throws {
        let gateway = try PhoneClient.gateway(revocations: { .missing })
        let answer = try PhoneClient(gateway).enrol()
        #expect(answer.status == 503 && answer.code == "store_unavailable")
        let apple = try EnrolledDevice(gateway, enrols: true)
        #expect(try apple.request("GET", "/attested/x").status == 200)
    }

    @Test("a chain without its platform's name is no attestation of Apple's")
    func unnamed() throws {
        let gateway = try PhoneClient.gateway()
        #expect(try PhoneClient(gateway).enrol(platform: nil).status == 400)
        #expect(try PhoneClient(gateway).enrol(platform: "apple").status == 400)
    }

    @Test("a challenge bound to a key, longer than Keystore takes, is attested by its digest")
    func boundChallenge() throws {
        let gateway = try PhoneClient.gateway()
        let phone = try PhoneClient(gateway)
        let token = try phone.client.exchange(
            "GET", "/attest/challenge?key_id=\(Base64.encodeURL(phone.phone.keyID.digest.array))"
        ).bodyText
        #expect(try phone.enrol(challenge: token).status == 200)
    }
}
