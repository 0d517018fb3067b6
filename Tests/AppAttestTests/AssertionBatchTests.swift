import AppAttest
import AppAttestTesting
import Bytes
import Crypto
import Testing

private let digest = SHA256.hash(Array("client data".utf8))

@Suite("A batch of assertions")
struct AssertionBatchTests {
    private let device: SimulatedDevice
    private let app: Bytes32

    init() throws {
        device = try SimulatedDevice(appID: simulatedAppID, system: .iOS27)
        app = SHA256.hash(Array(simulatedAppID.utf8))
    }

    private func batch() throws -> AssertionBatch {
        AssertionBatch(try P256BatchVerifier(library: nil, auditPercent: 0))
    }

    @Test("has verdicts in the order of the assertions, however many are verified together")
    func order() throws {
        var batch = try batch()
        let entries = try (0..<29).map { _ throws in
            try AssertionBatch.Entry(
                device.assert(clientDataHash: digest.array), clientDataHash: digest,
                publicKey: device.publicKey, rpIDHash: app)
        }
        var counters: [UInt32] = []
        for count in [1, 8, 3, 8, 2, 7] {
            let first = counters.count
            batch.verify(count) {
                entries[first + $0]
            } verdict: { outcome in
                if case .success(let assertion) = outcome { counters.append(assertion.counter) }
            }
        }
        #expect(counters == Array(1...29))
    }

    @Test("refuses only the assertions that are wrong")
    func wrong() throws {
        var batch = try batch()
        let other = SHA256.hash(Array("other client data".utf8))
        let entries = try (0..<8).map { index throws in
            try AssertionBatch.Entry(
                device.assert(clientDataHash: digest.array),
                clientDataHash: index == 2 ? other : digest, publicKey: device.publicKey,
                rpIDHash: index == 5 ? other : app)
        }
        var outcomes: [AssertionBatch.Outcome] = []
        batch.verify(8) {
            entries[$0]
        } verdict: {
            outcomes.append($0)
        }
        let failures = outcomes.map { outcome -> AssertionFailure? in
            if case .failure(let failure) = outcome { failure } else { nil }
        }
        #expect(
            failures == [nil, nil, .signatureInvalid, nil, nil, .appMismatch, nil, nil])
    }
}
