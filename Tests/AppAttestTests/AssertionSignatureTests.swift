import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Testing

private let digest = SHA256.hash(Array("client data".utf8))

@Suite("Assertions whose signatures are verified in batches")
struct AssertionSignatureTests {
    private let device: SimulatedDevice
    private let app: Bytes32
    private let platform = AppAttestPlatform(
        attestations: AttestationVerifier(roots: [], apps: [], clockSkewSeconds: 0),
        receipts: ReceiptVerifier(roots: []), clockSkewSeconds: 0)

    init() throws {
        device = try SimulatedDevice(appID: simulatedAppID, system: .iOS27)
        app = SHA256.hash(Array(simulatedAppID.utf8))
    }
}

extension AssertionSignatureTests {
    private func batch() throws -> SignatureBatch {
        SignatureBatch(try P256BatchVerifier(library: nil, auditPercent: 0))
    }

    private func entry(
        _ object: [UInt8], clientDataHash: Bytes32 = digest, app: Bytes32? = nil
    ) throws -> SignatureBatch.Entry {
        SignatureBatch.Entry(
            try platform.unverified(
                object, clientDataHash: clientDataHash, publicKey: device.publicKey),
            on: platform, appDigest: app ?? self.app)
    }

    @Test("has verdicts in the order of the assertions, however many are verified together")
    func order() throws {
        var batch = try batch()
        let entries = try (0..<29).map { _ throws in
            try entry(device.assert(clientDataHash: digest.array))
        }
        var counters: [UInt32] = []
        for count in [1, 8, 3, 8, 2, 7] {
            let first = counters.count
            batch.verify(count) {
                entries[first + $0]
            } verdict: { outcome in
                if case .success(let request) = outcome {
                    counters.append(request.facts.uniqueness.mark)
                }
            }
        }
        #expect(counters == Array(1...29))
    }

    @Test("refuses only the assertions that are wrong")
    func wrong() throws {
        var batch = try batch()
        let other = SHA256.hash(Array("other client data".utf8))
        let entries = try (0..<8).map { index throws in
            try entry(
                device.assert(clientDataHash: digest.array),
                clientDataHash: index == 2 ? other : digest, app: index == 5 ? other : app)
        }
        var outcomes: [SignatureBatch.Outcome] = []
        batch.verify(8) {
            entries[$0]
        } verdict: {
            outcomes.append($0)
        }
        let failures = outcomes.map { outcome -> String? in
            if case .failure(let failure) = outcome { failure.code } else { nil }
        }
        #expect(
            failures == [
                nil, nil, "signature_invalid", nil, nil, "app_mismatch", nil, nil,
            ])
    }
}
