import AppAttest
import AppleServices
import Bytes
import Crypto
import HTTP
import KeyStore
import Policy
import Settings

/// A request's token of DeviceCheck, as far as it was looked at.
struct DeviceProof {
    /// By which it is remembered: 128 bits of its SHA-256.
    var id = Bytes16(word0: 0, word1: 0)
    /// Whether it was accepted before, as far as the counter store knows; nil until that was asked.
    var isSpent: Bool?
    /// Apple's answer, and whose it is.
    var verdict: DeviceVerdict?
    /// Of the counter store; nil until it was asked.
    var spending: CounterVerdict?

    /// Once Apple knows the device.
    var environment: AttestEnvironment? {
        if case .genuine(let environment, _) = verdict { environment } else { nil }
    }
}

/// What became of a question about a device.
enum DeviceVerdict: Sendable {
    /// The bits where they were asked for.
    case genuine(AttestEnvironment, bits: DeviceBits?)
    /// Apple does not take the token.
    case badToken
    /// Nobody knows: for log and metrics.
    case unjudged(String)
    /// A bound of ours or of Apple's is reached, which strangers can use up.
    case refused(Refusal)
}

/// Tokens of DeviceCheck: what a device without App Attest can show. One is good for one request.
extension Exchange {
    /// Asks Apple, through the control thread, whether the token is of a genuine device of ours.
    func verifyDevice() throws(Refusal) -> Step {
        do throws(Refusal) {
            guard let verdict = device?.verdict else {
                try askAboutDevice(withBits: false)
                return .wait
            }
            _ = try bits(of: verdict)
            try meetStandard(.deviceCheck)
        } catch {
            try refuseOrObserve(error)
        }
        return .next
    }

    /// Throws for a device that is not known as a genuine one.
    func bits(of verdict: DeviceVerdict) throws(Refusal) -> DeviceBits? {
        switch verdict {
        case .genuine(_, let bits): return bits
        case .badToken: throw Refusal(.deviceTokenInvalid, .deviceTokenBad)
        case .unjudged(let label):
            throw Refusal(.storeUnavailable, .deviceCheck(label: label))
        case .refused(let refusal): throw refusal
        }
    }

    /// The control thread's reply goes on where this was asked; before it, perhaps, the counter
    /// store's, which asks once more.
    func askAboutDevice(withBits: Bool) throws(Refusal) {
        guard case .value(let range) = uniqueField(site.fieldNames.deviceCheck) else {
            throw Refusal(.deviceTokenInvalid, .deviceTokenRepeated)
        }
        let text = headBytes.span.extracting(range)
        guard text.count <= DeviceCheck.tokenByteCountMax, let bytes = Base64.decode(text),
            !bytes.isEmpty
        else { throw Refusal(.deviceTokenInvalid, .deviceTokenMalformed) }
        // Of what it stands for: base64 has several spellings.
        let digest = SHA256.hash(bytes.span)
        let id = Bytes16(word0: digest.word0, word1: digest.word1)
        device?.id = id
        if !withBits {
            // Whoever has seen a token may send it as often as he likes: that is not Apple's time.
            guard let isSpent = device?.isSpent ?? worker.lookUpToken(for: self, id) else { return }
            guard !isSpent else { throw Refusal(.deviceTokenInvalid, .deviceTokenSpent) }
        }
        try worker.ask(.judge(withBits: withBits), Base64.encode(bytes), for: self)
    }

    /// Accepts the token, once and for good.
    func spendDeviceToken() throws(Refusal) -> Step {
        do throws(Refusal) {
            guard let device else { return .next }
            guard try spend(device) else { return .wait }
            conclude()
        } catch {
            try refuseOrObserve(error)
        }
        return .next
    }

    /// False while the counter store is asked; throws where it was spent before.
    func spend(_ device: DeviceProof) throws(Refusal) -> Bool {
        switch device.spending ?? worker.spendToken(for: self, device.id) {
        case nil: return false
        case .accepted: return true
        case .replayed, .challengeSpent:
            throw Refusal(.deviceTokenInvalid, .deviceTokenSpent)
        case .full: throw Refusal(.gatewayBusy, .countersFull)
        default: throw Refusal(.storeUnavailable, .counters)
        }
    }
}
