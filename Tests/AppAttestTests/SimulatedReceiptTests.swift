import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Testing

@Suite("Simulated receipts")
struct SimulatedReceiptTests {
    let apple: SimulatedApple
    let device: SimulatedDevice

    init() throws {
        apple = try SimulatedAttestationTests.shared.get()
        device = try SimulatedDevice(appID: simulatedAppID)
    }
}

extension SimulatedReceiptTests {
    private func receipt(
        _ kind: ReceiptFields.Kind, riskMetric: UInt32? = nil, createdAt: Int64 = simulatedNow
    ) -> SimulatedReceipt {
        SimulatedReceipt(
            kind: kind, appID: simulatedAppID, attestedKey: device.publicKey.x963,
            clientHash: [1, 2, 3], environment: .production, createdAt: createdAt,
            riskMetric: riskMetric)
    }

    private func verify(
        _ receipt: SimulatedReceipt
    ) throws -> Result<ReceiptFields, ReceiptFailure> {
        let bytes = try apple.receipt(receipt)
        do throws(ReceiptFailure) {
            return .success(
                try ReceiptVerifier(roots: [apple.receiptRoot]).verify(
                    bytes, appID: simulatedAppID, publicKey: device.publicKey,
                    environment: .production
                ).fields)
        } catch {
            return .failure(error)
        }
    }

    @Test("from Apple's server carry a risk metric")
    func riskMetric() throws {
        let fields = try verify(receipt(.receipt, riskMetric: 7)).get()
        #expect(fields.kind == .receipt)
        #expect(fields.riskMetric == 7)
        #expect(fields.notBefore?.seconds == simulatedNow + 86400)
        #expect(fields.expiresAt?.seconds == simulatedNow + 90 * 86400)
        #expect(try verify(receipt(.attest)).get().riskMetric == nil)
    }

    @Test("are of the time of the leaf that they came with, and not of one that is to come")
    func creation() throws {
        let object = try device.attest(
            clientDataHash: [1], by: apple, at: simulatedNow, fault: nil)
        let attestation = try AttestationVerifier(
            roots: [apple.root],
            apps: [AppIdentity(id: simulatedAppID, environments: [.production])],
            clockSkewSeconds: 0
        ).verify(object.span, clientDataHash: [1], keyID: device.keyID, at: simulatedNow)
        let range = attestation.receiptCreation(upTo: simulatedNow, skewSeconds: 60)
        #expect(range == (attestation.leafNotBefore - 60)...(simulatedNow + 60))
        let verifier = ReceiptVerifier(roots: [apple.receiptRoot])
        for (createdAt, isRight) in [
            (simulatedNow, true), (range.lowerBound, true), (range.upperBound, true),
            (range.lowerBound - 1, false), (range.upperBound + 1, false),
        ] {
            let bytes = try apple.receipt(receipt(.attest, createdAt: createdAt))
            let verified = try? verifier.verify(
                bytes, appID: simulatedAppID, publicKey: device.publicKey, creation: range)
            #expect((verified != nil) == isRight)
        }
        // A leaf is long dead: what came with it is no younger.
        let late = attestation.receiptCreation(upTo: .max - 60, skewSeconds: 60)
        #expect(late.upperBound == attestation.leafNotAfter + 60)
    }

    @Test("with fields that nobody knows are read all the same")
    func unknownFields() throws {
        var receipt = receipt(.attest)
        receipt.otherFields = [1: [], 99: [0xFF], 127: [1, 2]]
        let fields = try verify(receipt).get()
        #expect(fields.fieldTypes.suffix(3) == [1, 99, 127])
    }

    @Test("with two fields of one type are malformed")
    func duplicates() throws {
        var receipt = receipt(.attest)
        receipt.otherFields = [6: Array("RECEIPT".utf8)]
        #expect(try verify(receipt).failure?.code == "malformed")
    }

    @Test("of years ago are judged at their creation")
    func old() throws {
        #expect(try verify(receipt(.receipt, createdAt: simulatedNow - 900 * 86400)).failure == nil)
    }

    @Test("of another app, key or environment are refused")
    func bindings() throws {
        var other = receipt(.attest)
        other.appID = "ABCDE12345.other"
        #expect(try verify(other).failure == .appMismatch)
        other = receipt(.attest)
        other.attestedKey = try SimulatedDevice(appID: simulatedAppID).publicKey.x963
        #expect(try verify(other).failure == .keyMismatch)
        other = receipt(.attest)
        other.environment = .development
        #expect(try verify(other).failure == .environmentMismatch)
        other.attestedKey = [1, 2, 3]
        #expect(try verify(other).failure?.code == "malformed")
    }

    @Test("do not chain to the attestations' root")
    func otherRoot() throws {
        let bytes = try apple.receipt(receipt(.attest))
        var failure: ReceiptFailure?
        do throws(ReceiptFailure) {
            _ = try ReceiptVerifier(roots: [apple.root]).verify(
                bytes, appID: nil, publicKey: nil)
        } catch {
            failure = error
        }
        #expect(failure?.code == "certificate_chain")
    }

    @Test("under a root of more than receipts are believed by their signers' mark alone")
    func signerMark() throws {
        let verifier = ReceiptVerifier(roots: [apple.receiptRoot], sharedRoot: apple.receiptRoot)
        func failure(isMarked: Bool) throws -> ReceiptFailure? {
            let bytes = try apple.receipt(receipt(.receipt), isSignerMarked: isMarked)
            do throws(ReceiptFailure) {
                _ = try verifier.verify(bytes, appID: nil, publicKey: nil)
                return nil
            } catch {
                return error
            }
        }
        #expect(try failure(isMarked: true) == nil)
        #expect(try failure(isMarked: false) == .certificateChain("the signer is not for receipts"))
        // A root of the operator's own vouches for nothing else.
        let bytes = try apple.receipt(receipt(.receipt), isSignerMarked: false)
        _ = try ReceiptVerifier(roots: [apple.receiptRoot]).verify(
            bytes, appID: nil, publicKey: nil)
    }

    @Test("larger than the bound are refused unread")
    func bound() {
        let bytes = [UInt8](repeating: 0x30, count: ReceiptVerifier.byteCountMax + 1)
        #expect(throws: ReceiptFailure.self) {
            try ReceiptVerifier(roots: []).verify(bytes, appID: nil, publicKey: nil)
        }
    }

    @Test("Content of any form is refused or read, and traps nothing")
    func contents() {
        var generator = SplitMix64(state: 0x0C0FFEE)
        for _ in 0..<20_000 {
            let field: [UInt8] = [0x30, 0x08, 0x02, 0x01, 0x0C, 0x02, 0x01, 0x01, 0x04, 0x00]
            var bytes = generator.damage([0x31, 0x14] + field + field)
            if bytes.count > 2 { bytes[1] = UInt8(bytes.count - 2) }
            _ = try? ReceiptFields(content: bytes.span)
        }
    }

    @Test("Content with a number longer than it need be is refused", arguments: [false, true])
    func longNumber(isLonger: Bool) {
        let values: [(UInt8, [UInt8])] = [
            (2, Array(simulatedAppID.utf8)), (3, [4] + [UInt8](repeating: 1, count: 64)),
            (6, Array("ATTEST".utf8)), (12, Array("2026-11-23T00:00:00Z".utf8)),
        ]
        let fields = values.flatMap { type, value in
            let number = isLonger && type == 6 ? [0x02, 2, 0, type] : [0x02, 1, type]
            let body = number + [0x02, 1, 1, 0x04, UInt8(value.count)] + value
            return [0x30, UInt8(body.count)] + body
        }
        let content = [0x31, 0x81, UInt8(fields.count)] + fields
        #expect(((try? ReceiptFields(content: content.span)) == nil) == isLonger)
    }
}

extension Result {
    var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
