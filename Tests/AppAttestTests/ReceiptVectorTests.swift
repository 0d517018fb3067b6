import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Testing

@Suite("Receipts of real devices", .enabled(if: Vectors.arePresent, Vectors.absent))
struct ReceiptVectorTests {
    static let accepted = Vectors.receipts.filter(\.isAccepted)
    private let verifier = ReceiptVerifier(roots: [AppleRoots.appleRootG3])
}

extension ReceiptVectorTests {
    private func failure(
        _ receipt: [UInt8], _ verifier: ReceiptVerifier, appID: String? = nil,
        publicKey: P256PublicKey? = nil, environment: AttestEnvironment? = nil
    ) -> ReceiptFailure? {
        do throws(ReceiptFailure) {
            _ = try verifier.verify(
                receipt, appID: appID, publicKey: publicKey, environment: environment)
            return nil
        } catch {
            return error
        }
    }

    @Test("get their recorded verdict", arguments: Vectors.receipts)
    func verdict(vector: Vector) {
        let failure = failure(
            vector.objectBytes, verifier, appID: vector.appID, publicKey: vector.point)
        if let rejection = vector.rejection {
            #expect(failure?.code.hasPrefix(rejection) == true, "\(failure.debugDescription)")
        } else {
            #expect(failure == nil)
        }
    }

    @Test("say what is recorded of them", arguments: accepted)
    func contents(vector: Vector) throws {
        let recorded = try #require(vector.fields)
        let fields = try verifier.verify(
            vector.objectBytes, appID: vector.appID, publicKey: vector.point
        ).fields
        #expect(fields.kind.rawValue == recorded.type)
        #expect(
            fields.environment == (recorded.environment == "sandbox" ? .development : .production))
        #expect(fields.createdAt == RFC3339.parse(recorded.creationTime))
        #expect(fields.riskMetric == recorded.riskMetric.flatMap { UInt32($0) })
        #expect(fields.notBefore == recorded.notBefore.flatMap { RFC3339.parse($0) })
        #expect(fields.expiresAt == recorded.expiration.flatMap { RFC3339.parse($0) })
        #expect(fields.clientHash == recorded.clientHash.flatMap { Base64.decode($0) })
        #expect(fields.token.map { String(decoding: $0, as: UTF8.self) } == recorded.token)
        #expect(fields.fieldTypes == recorded.order)
        #expect(KeyID(of: fields.publicKey).base64 == vector.keyID)
    }

    @Test("are bound to app, key and environment", arguments: accepted.prefix(4))
    func bindings(vector: Vector) throws {
        let receipt = vector.objectBytes
        let stranger = try #require(
            Self.accepted.first { $0.keyID != vector.keyID }?.point)
        #expect(failure(receipt, verifier, appID: "ABCDE12345.other") == .appMismatch)
        #expect(failure(receipt, verifier, publicKey: stranger) == .keyMismatch)
        let environment = try #require(
            vector.environment.flatMap { AttestEnvironment(rawValue: $0) })
        #expect(failure(receipt, verifier, environment: environment) == nil)
        let other = AttestEnvironment.allCases.first { $0 != environment }
        #expect(failure(receipt, verifier, environment: other) == .environmentMismatch)
    }

    @Test("do not chain to the App Attest root")
    func otherRoot() {
        let wrong = ReceiptVerifier(roots: [AppleRoots.appAttestation])
        for vector in Self.accepted {
            #expect(failure(vector.objectBytes, wrong)?.code == "certificate_chain")
        }
    }

    @Test(
        "inside attestations get their recorded verdict, whatever it is",
        arguments: AttestationVectorTests.accepted)
    func embedded(vector: Vector) throws {
        let object = vector.objectBytes
        let attestation = try AttestationVerifier(
            roots: [AppleRoots.appAttestation], apps: [vector.app], clockSkewSeconds: 0
        ).verify(
            object.span, clientDataHash: vector.clientDataHashBytes,
            keyID: try #require(KeyID(base64: vector.keyID)), at: vector.seconds)
        let receipt = try #require(attestation.receipt)
        let failure = failure(
            receipt, verifier, appID: vector.appID, publicKey: attestation.publicKey)
        #expect((failure == nil) == (vector.receiptExpected == "accept"))
        // Made within the life of the leaf that it came with, up to the moment of the capture.
        guard failure == nil else { return }
        #expect(throws: Never.self) {
            try verifier.verify(
                receipt, appID: vector.appID, publicKey: attestation.publicKey,
                creation: attestation.receiptCreation(upTo: vector.seconds, skewSeconds: 0))
        }
    }

    @Test("never trap and never change their meaning when damaged", arguments: accepted)
    func damaged(vector: Vector) throws {
        var generator = SplitMix64(state: UInt64(vector.seconds))
        let whole = vector.objectBytes
        let original = try verifier.verify(whole, appID: nil, publicKey: nil)
        for _ in 0..<100 {
            guard
                let verified = try? verifier.verify(
                    generator.damage(whole), appID: nil, publicKey: nil)
            else { continue }
            #expect(verified == original)
        }
    }
}
