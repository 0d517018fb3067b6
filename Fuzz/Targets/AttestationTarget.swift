import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import JSON

extension FuzzTarget {
    /// Attestations, assertions and receipts: explained to the end whatever they are, never
    /// verified without the key. The first byte says what the others are.
    static let attestation = FuzzTarget(
        "attestation", byteCountMax: 16 * 1024, allocatedPerByte: 2000, seeds: objects
    ) {
        input in
        guard let first = input.first else { return }
        let object = Array(input.dropFirst())
        let kinds = ExplainedObject.allCases
        let kind = kinds[Int(first) % kinds.count]
        var expected = Expectations(at: moment)
        expected.clientData = Array("challenge".utf8)
        expected.appID = appID
        let explained = kind.explanation(of: object, expecting: expected)
        let json = explained.json
        let isRead = (try? JSONValue.parse(json.span, byteCountMax: 1 << 20, depthMax: 16)) != nil
        // JSON's own reader takes no NUL, which a name may hold.
        let hasNUL = String(decoding: json, as: UTF8.self).contains("\\u0000")
        try FuzzFinding.require(isRead || hasNUL, "an explanation that is no JSON")
        switch kind {
        case .attestation: try checkRefusal(of: object)
        case .assertion:
            _ = try? AuthenticatorData(assertion: object.span)
            _ = try? AuthenticatorData(attestation: object.span)
        case .receipt:
            _ = try? ReceiptFields(content: object.span)
            try checkReceipt(object)
        }
    }

    /// A receipt that verifies says what was signed, because no input can contain a new signature.
    private static func checkReceipt(_ object: [UInt8]) throws(FuzzFinding) {
        guard let apple, let signed = try? ReceiptFields(content: receipt.content.span) else {
            return
        }
        let verifier = ReceiptVerifier(roots: [apple.receiptRoot])
        guard
            let verified = try? verifier.verify(object, appID: nil, publicKey: nil).fields
        else { return }
        try FuzzFinding.requireEqual(verified, signed, "a forged receipt")
    }

    private static let receipt = SimulatedReceipt(
        kind: .receipt, appID: appID,
        attestedKey: (try? SimulatedDevice(appID: appID))?.publicKey.x963 ?? [], clientHash: [1],
        environment: .production, createdAt: moment, riskMetric: 3)

    /// No input can be accepted, because the root is made for each run and its key is unknown.
    private static func checkRefusal(of object: [UInt8]) throws(FuzzFinding) {
        guard let apple else { return }
        let verifier = AttestationVerifier(
            roots: [apple.root], apps: [AppIdentity(id: appID, environments: [.production])],
            clockSkewSeconds: 0)
        let verified = try? verifier.verify(
            object.span, clientDataHash: [], keyID: KeyID(digest: SHA256.hash(object)),
            at: moment)
        try FuzzFinding.require(verified == nil, "a forged attestation")
    }

    private static let apple = try? SimulatedApple(around: moment)
    /// Early in 2026.
    private static let moment: Int64 = 1_770_000_000
    private static let appID = "ABCDE12345.com.example.app"

    private static func objects() throws -> [[UInt8]] {
        guard let apple else { return [] }
        let hash = SHA256.hash(Array("challenge".utf8)).array
        var seeds: [[UInt8]] = []
        for system in [SimulatedSystem.iOS14, .iOS26, .iOS27] {
            let device = try SimulatedDevice(appID: appID, system: system)
            seeds.append([0] + (try device.attest(clientDataHash: hash, by: apple, at: moment)))
            seeds.append([1] + (try device.assert(clientDataHash: hash)))
        }
        seeds.append([2] + (try apple.receipt(receipt)))
        return seeds
    }
}
