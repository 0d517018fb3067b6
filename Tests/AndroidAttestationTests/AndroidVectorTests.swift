import AndroidAttestation
import Attestation
import Bytes
import Crypto
import Testing

@Suite(
    "Android attestations of real phones",
    .enabled(if: AndroidVectors.arePresent, AndroidVectors.absent))
struct AndroidVectorTests {
    private static func explanation(
        of vector: AndroidVector, _ change: (inout AndroidExpectations) -> Void = { _ in }
    ) throws -> Explanation {
        var expected = AndroidExpectations(at: vector.seconds)
        expected.revocations = try vector.revocationList.map(AndroidVectors.revocationList)
        change(&expected)
        return .androidAttestation(vector.certificates, expecting: expected)
    }

    @Test("get their recorded verdict by the default policy", arguments: AndroidVectors.chains)
    func standard(vector: AndroidVector) throws {
        let explanation = try Self.explanation(of: vector)
        #expect(explanation.isValid == vector.standard?.isValid, "\(explanation.text)")
        #expect(explanation.code == vector.standard?.code ?? "ok")
    }

    @Test("get their recorded verdict for any device", arguments: AndroidVectors.chains)
    func anyDevice(vector: AndroidVector) throws {
        let explanation = try Self.explanation(of: vector) {
            $0.securityLevelMin = .software
            $0.acceptsAnyBootState = true
        }
        #expect(explanation.isValid == vector.anyDevice?.isValid, "\(explanation.text)")
        #expect(explanation.code == vector.anyDevice?.code ?? "ok")
    }
}
