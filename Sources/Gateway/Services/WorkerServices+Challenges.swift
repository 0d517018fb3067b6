import Attestation
import Bytes
import GatewayTokens
import KeyStore

extension WorkerServices {
    /// A fresh challenge; nil as long as the counter store was never reached.
    func makeChallenge(_ purpose: ChallengePurpose, keyID: KeyID?) -> Challenge? {
        let id = random.bytes16()
        let now: StoreMoment
        switch purpose {
        case .attestation:
            // Spent in the registry, once forever: gateways need no common clock but the time of
            // day.
            now = StoreMoment(incarnation: Incarnation(0), milliseconds: wallMilliseconds)
        case .assertion:
            guard let current = counters.sealingMoment(keyID: keyID, challenge: id) else {
                return nil
            }
            now = current
        }
        let life = site.challengeLifeMilliseconds(purpose, isBound: keyID != nil)
        meter.add(.challenges)
        return Challenge(
            purpose: purpose, expiresAt: now.milliseconds + life, incarnation: now.incarnation,
            id: id, keyID: keyID)
    }

    /// Appends the text of a challenge for the app.
    func seal(_ challenge: Challenge, into output: inout ByteBuffer) {
        site.sealer.seal(challenge, into: &output)
    }

    func token(of challenge: Challenge) -> [UInt8] { site.sealer.token(of: challenge) }
}
