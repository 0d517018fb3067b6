import AppAttest
import Attestation
import Bytes
import Crypto

/// The `attestationData` service of a stand-in for Apple.
struct StandInReceipts {
    private let apple: SimulatedApple
    private let verifier: ReceiptVerifier
    /// The device of each key that shares one with others.
    private var devices: [KeyID: String] = [:]
    /// The time at which each key of a device was seen first, in seconds since 1970.
    private var seen: [String: [KeyID: Int64]] = [:]
    private var risks: [KeyID: UInt32] = [:]
    private var forgotten: Set<KeyID> = []

    private static let day: Int64 = 86400
    /// The age at which receipts become unknown, and for which keys are counted.
    private static let memorySeconds: Int64 = 30 * day
    /// Field 4 as Apple's server writes it: 18 replacement characters of three bytes.
    private static let corruptedHash = Array(String(repeating: "\u{FFFD}", count: 18).utf8)

    init(apple: SimulatedApple) {
        self.apple = apple
        verifier = ReceiptVerifier(roots: [apple.receiptRoot])
    }

    mutating func place(_ keyIDs: [KeyID], on device: String) {
        for keyID in keyIDs { devices[keyID] = device }
    }

    mutating func setRisk(_ metric: UInt32, of keyID: KeyID) { risks[keyID] = metric }

    mutating func forget(_ keyID: KeyID) { forgotten.insert(keyID) }

    mutating func reply(
        to request: StandInRequest, teamID: String, at seconds: Int64, notBeforeSeconds: Int64
    ) -> StandInReply {
        guard let bytes = Base64.decode(request.body.span),
            let receipt = try? verifier.verify(bytes, appID: nil, publicKey: nil),
            AppIdentity(id: receipt.fields.appID, environments: []).teamID == teamID
        else { return StandInReply(status: 400, text: "Bad Payload") }
        let fields = receipt.fields
        guard fields.environment == request.environment else {
            return StandInReply(status: 400, text: "Incorrect Environment")
        }
        let keyID = KeyID(of: fields.publicKey)
        guard !forgotten.contains(keyID), seconds - fields.createdAt.seconds < Self.memorySeconds
        else { return StandInReply(status: 404) }
        if let notBefore = fields.notBefore, seconds < notBefore.seconds {
            return StandInReply(status: 304)
        }
        var next = SimulatedReceipt(
            kind: .receipt, appID: fields.appID, attestedKey: fields.publicKey.x963,
            clientHash: Self.corruptedHash, environment: request.environment, createdAt: seconds,
            riskMetric: count(keyID, at: seconds))
        next.notBeforeSeconds = notBeforeSeconds
        next.token = fields.token
        guard let made = try? apple.receipt(next) else { return StandInReply(status: 500) }
        return StandInReply(status: 200, body: Base64.encodeBytes(made))
    }

    /// The number of keys attested on the key's device in 30 days, as far as they came here.
    private mutating func count(_ keyID: KeyID, at seconds: Int64) -> UInt32 {
        let device = devices[keyID] ?? "alone \(keyID.base64)"
        var keys = seen[device, default: [:]]
        // Keys that were placed on the device count even if they never came.
        for (other, place) in devices where place == device && keys[other] == nil {
            keys[other] = seconds
        }
        if keys[keyID] == nil { keys[keyID] = seconds }
        keys = keys.filter { seconds - $0.value < Self.memorySeconds }
        seen[device] = keys
        return risks[keyID] ?? UInt32(keys.count)
    }
}
