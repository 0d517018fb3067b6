import AndroidAttestation
import Attestation
import Background
import Bytes
import GatewayTesting
import JSON
import Settings
import Testing

@testable import Gateway

/// A gateway with an Android app and no list of withdrawn certificates.
@Suite("Without a list of withdrawn Android certificates")
struct AndroidRevocationTests {}

extension AndroidRevocationTests {
    private struct Unreadable: Error {}

    /// `revocations`: nil if the operator has switched the list off.
    private func gateway(_ revocations: RevocationState?) throws -> GatewayUnderTest {
        try GatewayUnderTest(
            platforms: revocations.map { PlatformEntry.all($0) } ?? PlatformEntry.all
        ) {
            $0.apps.append(
                AppIdentity(
                    android: "com.example.app", environments: [.production],
                    demands: AndroidDemands(signingDigests: [.zero])))
        }
    }

    private func enrol(_ gateway: GatewayUnderTest) throws -> HTTPMessage {
        let client = try gateway.client()
        let challenge = try client.exchange("GET", "/attest/challenge").bodyText
        let keyID = Base64.encode([UInt8](repeating: 7, count: 32))
        let body =
            #"{"platform":"android","key_id":"\#(keyID)","challenge":"\#(challenge)","#
            + #""chain":["AAAA","AAAA","AAAA"]}"#
        return try client.exchange("POST", "/attest/verify", body: Array(body.utf8))
    }

    @Test("no Android key enrols, and the client is asked to come later")
    func missing() throws {
        let gateway = try gateway(RevocationState())
        let answer = try enrol(gateway)
        #expect(answer.status == 503 && answer.code == "store_unavailable")
        let line = try #require(gateway.logLines().first { $0.contains("store_unavailable") })
        #expect(line.contains("revocation_list_missing"))
    }

    @Test("a chain is judged if the operator has switched the list off")
    func off() throws {
        let answer = try enrol(try gateway(nil))
        #expect(answer.code == "attestation_invalid")
    }

    @Test("the status page and the metrics say so")
    func told() throws {
        let gateway = try gateway(RevocationState())
        let admin = try RawClient(port: gateway.adminPort, host: "127.0.0.1")
        let status = try admin.exchange("GET", "/status.json").bodyText
        guard case .array(let problems)? = try JSONValue.parse(status)["problems"] else {
            throw Unreadable()
        }
        let names = problems.compactMap { $0["name"]?.stringValue }
        #expect(names.contains("android_list_missing"))
        let metrics = try RawClient(port: gateway.adminPort, host: "127.0.0.1")
            .exchange("GET", "/metrics").bodyText
        #expect(metrics.contains("sallyport_android_revocation_list_entries 0\n"))
        #expect(metrics.contains("sallyport_android_keys_revoked_total 0\n"))
        #expect(!metrics.contains("sallyport_android_revocation_list_age_seconds 0"))
    }
}
