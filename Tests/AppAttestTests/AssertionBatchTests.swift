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

    private func add(_ count: Int, to batch: inout AssertionBatch) throws {
        for _ in 0..<count {
            let object = try device.assert(clientDataHash: digest.array)
            try batch.add(
                object, clientDataHash: digest, publicKey: device.publicKey, rpIDHash: app)
        }
    }

    @Test("has verdicts in the order in which assertions came, however many more come meanwhile")
    func order() throws {
        var batch = try batch()
        var counters: [UInt32] = []
        try add(9, to: &batch)
        for count in [1, 8, 3, 8, 2, 7] {
            batch.verify(count) { outcome in
                if case .success(let assertion) = outcome { counters.append(assertion.counter) }
            }
            try add(4, to: &batch)
        }
        #expect(counters == Array(1...29))
    }

    @Test("forgets those that are not wanted, before and after some have their verdict")
    func kept() throws {
        var batch = try batch()
        var counters: [UInt32] = []
        func verify(_ count: Int) {
            batch.verify(count) { outcome in
                if case .success(let assertion) = outcome { counters.append(assertion.counter) }
            }
        }
        try add(8, to: &batch)
        batch.keep { $0 != 0 && $0 != 3 }
        verify(2)
        // Those that wait are the fifth to the eighth.
        batch.keep { $0 % 2 == 1 }
        try add(1, to: &batch)
        verify(3)
        #expect(counters == [2, 3, 6, 8, 9])
        #expect(batch.heldCount == 0)
    }

    @Test("does not keep those that have their verdict, though some always wait")
    func memory() throws {
        var batch = try batch()
        try add(16, to: &batch)
        for _ in 0..<100 {
            batch.verify(8) { _ in }
            try add(8, to: &batch)
            #expect(batch.heldCount <= 32)
        }
    }
}
