import Attestation
import GatewayTokens
import KeyStore

/// How far the gateway has come with an assertion.
enum AssertionProof {
    /// The header is there. It is decoded once the body is complete.
    case announced
    /// The assertion was decoded, but not checked.
    case read(Evidence)
    /// The signature is valid.
    case verified(AssertionClaim)
    /// The route did not accept the proof, but lets the request pass.
    case rejected(KeyID)

    var keyID: KeyID? {
        switch self {
        case .announced: nil
        case .read(let evidence): evidence.keyID
        case .verified(let claim): claim.keyID
        case .rejected(let keyID): keyID
        }
    }

    /// The facts that the signature proves; nil before it was checked and after a rejection.
    var claim: AssertionClaim? {
        switch self {
        case .verified(let claim): claim
        case .announced, .read, .rejected: nil
        }
    }
}

/// The facts that the stores must accept, once the signature of an assertion is valid.
struct AssertionClaim {
    let keyID: KeyID
    let challenge: Challenge?
    let request: VerifiedRequest

    /// The counter; nil of a key that does not count.
    var counter: UInt32? { request.facts.uniqueness.counter }
}
