import AppAttest
import Bytes
import GatewayTokens
import KeyStore

extension Worker {
    /// A fresh challenge, nil while the counter store has never been reached.
    func makeChallenge(_ purpose: ChallengePurpose, keyID: KeyID?) -> Challenge? {
        let id = random.bytes16()
        let now: StoreMoment
        switch purpose {
        case .attestation:
            // Spent in the registry, once forever: gateways need no clock in common but the day's.
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

    /// Appends what the app is given of a challenge.
    func seal(_ challenge: Challenge, into output: inout ByteBuffer) {
        site.sealer.seal(challenge, into: &output)
    }

    func token(of challenge: Challenge) -> [UInt8] { site.sealer.token(of: challenge) }
}
