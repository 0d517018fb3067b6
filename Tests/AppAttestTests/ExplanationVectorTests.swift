import AppAttest
import Attestation
import Bytes
import Crypto
import JSON
import Testing

@Suite(
    "Explanations of real devices' objects", .enabled(if: Vectors.arePresent, Vectors.absent))
struct ExplanationVectorTests {}

extension ExplanationVectorTests {
    private func expectations(_ vector: Vector) -> Expectations {
        var expected = Expectations(at: vector.seconds)
        expected.clientDataHash = vector.kind == "receipt" ? nil : vector.clientDataHashBytes
        expected.keyID = KeyID(base64: vector.keyID)
        expected.publicKey = vector.point
        expected.appID = vector.appID
        expected.environment = vector.environment.flatMap { AttestEnvironment(rawValue: $0) }
        return expected
    }

    private func explain(_ vector: Vector, _ expected: Expectations) -> Explanation {
        (ExplainedObject(rawValue: vector.kind) ?? .receipt).explanation(
            of: ExplainInput.object(Array(vector.object.utf8)), expecting: expected)
    }

    @Test("give the recorded verdict and reason", arguments: Vectors.all)
    func verdict(vector: Vector) {
        let explanation = explain(vector, expectations(vector))
        #expect(explanation.isValid == vector.isAccepted, "\(explanation.text)")
        #expect(explanation.code.hasPrefix(vector.rejection ?? "ok"))
    }

    @Test("skip what is not given, and say so", arguments: Vectors.all.filter { $0.isAccepted })
    func lessGiven(vector: Vector) {
        var expected = expectations(vector)
        expected.appID = nil
        expected.keyID = nil
        expected.environment = nil
        let explanation = explain(vector, expected)
        #expect(explanation.isValid)
        let app = explanation.steps.first { $0.name == "app" }
        #expect(app?.outcome == .skipped)
    }

    @Test(
        "are never valid without what proves them",
        arguments: Vectors.all.filter { $0.isAccepted && $0.kind != "receipt" })
    func requirements(vector: Vector) {
        var expected = expectations(vector)
        expected.clientDataHash = nil
        #expect(explain(vector, expected).code == "client_data_required")
        guard vector.kind == "assertion" else { return }
        expected = expectations(vector)
        expected.publicKey = nil
        #expect(explain(vector, expected).code == "public_key_required")
    }

    @Test("go on after a failure, and name the verifier's reason")
    func goOn() throws {
        let vector = try #require(AttestationVectorTests.accepted.last)
        var expected = expectations(vector)
        expected.seconds = 2_000_000_000
        expected.appID = "ABCDE12345.other"
        expected.keyID = KeyID(digest: .zero)
        let explanation = explain(vector, expected)
        #expect(explanation.code == "certificate_expired")
        let failed = explanation.steps.filter { $0.outcome == .failed }.map(\.name)
        #expect(failed == ["certificate_chain", "key_id", "app", "credential_id", "leaf_profile"])
        #expect(explanation["os_version"] == .text("27.0"))
        #expect(explanation["validation_category_name"] == .text("os"))
        #expect(explanation["app_id"] == nil)
        #expect(explanation["leaf_app_id"] == .text(vector.appID))
    }

    @Test("say how the challenge was treated instead")
    func hints() throws {
        let vector = try #require(Vectors.attestations.first { $0.clientDataHashBytes.count == 24 })
        var expected = expectations(vector)
        expected.clientDataHash = nil
        expected.clientData = Array("example_server_challenge".utf8)
        let explanation = explain(vector, expected)
        #expect(explanation.code == "nonce_mismatch")
        let nonce = explanation.steps.first { $0.name == "nonce" }
        #expect(nonce?.detail.contains("did not hash it") == true)
    }

    @Test("are JSON for machines and text for people", arguments: Vectors.all.prefix(20))
    func output(vector: Vector) throws {
        let explanation = explain(vector, expectations(vector))
        let json = explanation.json
        let value = try JSONValue.parse(json.span, byteCountMax: 65536, depthMax: 8)
        guard case .object(let members) = value, case .array(let steps) = members["steps"],
            case .object(let fields) = members["fields"]
        else {
            Issue.record("no object with steps and fields")
            return
        }
        #expect(members["verdict"] == .string(vector.isAccepted ? "valid" : "invalid"))
        #expect(members["code"] == .string(explanation.code))
        #expect(steps.count == explanation.steps.count)
        #expect(fields.count == explanation.fields.count)
        #expect(explanation.text.hasPrefix("\(vector.kind): "))
    }

    @Test("read files as they come")
    func files() {
        #expect(ExplainInput.object(Array("AQID\nBA==\n".utf8)) == [1, 2, 3, 4])
        #expect(ExplainInput.object([0xA2, 0x61]) == [0xA2, 0x61])
        let digest = SHA256.hash([7]).array
        #expect(ExplainInput.clientDataHash(digest) == digest)
        #expect(ExplainInput.clientDataHash(Array(Base64.encode(digest).utf8)) == digest)
        #expect(ExplainInput.clientDataHash(Array(Base64.encodeURL(digest).utf8)) == digest)
        let challenge = Array("example_server_challenge".utf8)
        #expect(ExplainInput.clientDataHash(challenge) == challenge)
        #expect(
            ExplainInput.clientDataHash(Array((Base64.encode(challenge) + "\n").utf8))
                == challenge)
    }
}
