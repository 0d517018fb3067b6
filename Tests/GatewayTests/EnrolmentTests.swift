import AppAttest
import AppAttestTesting
import Bytes
import GatewayTesting
import KeyStore
import Settings
import Testing

@testable import Gateway

@Suite("Enrolment")
struct EnrolmentTests {
    @Test("an attested key is stored, and the same attestation again is answered alike")
    func idempotent() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway, enrols: true)
        let again = try device.attest()
        #expect(again.status == 200)
        #expect(again.member("status") == "attested")
        #expect(again.member("key_id") == device.device.keyID.base64)
        #expect(again[challengeField] != nil)
        #expect(gateway.registry.recordCount == 1)
    }
}
