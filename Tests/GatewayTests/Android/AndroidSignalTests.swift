import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import GatewayTesting
import Judgement
import Settings
import Testing

@testable import Gateway

/// Enrolments under one attestation certificate. All simulated phones share two: that of their TEE
/// and that of their StrongBox.
@Suite("Keys per attestation certificate")
struct AndroidSignalTests {}

extension AndroidSignalTests {
    private static let name = "keys_per_attestation_certificate"

    private static func gateway(_ rule: SignalSettings.Rule) throws -> GatewayUnderTest {
        try PhoneClient.gateway(revocations: { .off }) {
            var limit = RateLimitSettings.suspects
            limit.subject = .address
            $0.rateLimits += [limit]
            $0.signals.certificateKeys = rule
        }
    }

    @Test("enrolments above the bound are refused if the rule denies, under this certificate alone")
    func deny() throws {
        let gateway = try Self.gateway(.atMost(2, .deny))
        let phones = try (0..<3).map { _ in try PhoneClient(gateway) }
        for phone in phones[..<2] { #expect(try phone.enrol().status == 200) }
        let refused = try phones[2].enrol()
        #expect(refused.status == 403 && refused.code == "abuse_suspected")
        #expect(refused.member("action") == "none")
        #expect(gateway.registry.record(of: phones[2].phone.keyID) == nil)
        let other = try PhoneClient(gateway) { $0.securityLevel = .strongBox }
        #expect(try other.enrol().status == 200)
        // Enrolled keys go on.
        #expect(try phones[0].request("GET", "/attested/x").status == 200)
        let page = try RawClient(port: gateway.adminPort).exchange("GET", "/metrics").bodyText
        #expect(page.contains("sallyport_signals_total{signal=\"\(Self.name)\"} 1\n"))
        let line = try #require(gateway.logLines().first { $0.contains("abuse_suspected") })
        #expect(line.contains(#""detail":"signal: \#(Self.name)""#))
        #expect(line.contains(#""signals":["\#(Self.name)"]"#))
    }

    @Test("chains that were not verified, and keys that are enrolled again, do not count")
    func uncounted() throws {
        let gateway = try Self.gateway(.atMost(2, .deny))
        let phone = try PhoneClient(gateway)
        for fault in [AndroidFault.leafSignatureDamaged, .otherRoot, .leafBelowGenuineLeaf] {
            #expect(try phone.enrol(fault: fault).code == "attestation_invalid")
        }
        for _ in 0..<2 { #expect(try phone.enrol().status == 200) }
        #expect(try PhoneClient(gateway).enrol().status == 200)
        #expect(try PhoneClient(gateway).enrol().code == "abuse_suspected")
        #expect(gateway.registry.recordCount == 2)
    }

    @Test("a rule that observes tells of the certificate once")
    func observe() throws {
        let gateway = try Self.gateway(.atMost(1))
        let phones = try (0..<3).map { _ in try PhoneClient(gateway) }
        for phone in phones { #expect(try phone.enrol().status == 200) }
        // No enrolment goes upstream, and a request tells nothing of its key's certificate.
        #expect(try phones[0].request("GET", "/attested/x").status == 200)
        #expect(gateway.told("X-Attest-Signals") == "none")
        #expect(gateway.hub.logs.eventCounts["signal_raised"] == 1)
        #expect(gateway.hub.meters[0].raisedCount(.certificateKeys) == 2)
    }

    @Test("a rule that limits has enrolments count against its limit")
    func limit() throws {
        let gateway = try Self.gateway(.atMost(1, .limit))
        // The second enrolment raises the signal and takes the one that the limit has.
        for _ in 0..<2 { #expect(try PhoneClient(gateway).enrol().status == 200) }
        #expect(try PhoneClient(gateway).enrol().code == "rate_limited")
        #expect(gateway.registry.recordCount == 2)
    }

    @Test("keys of Apple's devices have no such certificate")
    func apple() throws {
        let gateway = try Self.gateway(.atMost(1, .deny))
        for _ in 0..<3 {
            let device = try EnrolledDevice(gateway, isKnown: false)
            #expect(try device.attest().status == 200)
        }
        #expect(gateway.hub.meters[0].raisedCount(.certificateKeys) == 0)
    }

    @Test("a phone needs no token of Apple's", arguments: [true, false])
    func deviceBits(isRequired: Bool) throws {
        let gateway = try PhoneClient.gateway(revocations: { .off }) {
            var bits = SignalSettings.DeviceBits()
            bits.token = isRequired ? .required : .optional
            $0.signals.deviceBits = bits
        }
        #expect(try PhoneClient(gateway).enrol().status == 200)
        let page = try RawClient(port: gateway.adminPort).exchange("GET", "/metrics").bodyText
        #expect(!page.contains("sallyport_enrolment_device_tokens_total{outcome=\"missing\"} 1"))
    }

    @Test("the log says how many certificates Google has issued to a phone, and no metric does")
    func certificatesIssued() throws {
        let gateway = try PhoneClient.gateway()
        let phone = try PhoneClient(gateway) { $0.provisioning = .remote }
        #expect(try phone.enrol().status == 200)
        let line = try #require(gateway.logLines().first { $0.contains("provisioning") })
        #expect(line.contains(#""provisioning":"remote","certificates_issued":16,"#))
        let counts = gateway.hub.meters[0].enrolmentDetails.counts
        #expect(counts == ["provisioning=remote": 1])
    }
}
