import AppAttest
import GatewayTokens
import KeyStore

/// How far the gateway has come with an assertion.
enum AssertionProof {
    /// The header is there; what it is about comes with the body.
    case announced
    /// Decoded, and not yet believed.
    case read(Evidence)
    /// The signature holds.
    case verified(AssertionClaim)
    /// A store has taken its counter: nobody can use it again.
    case accepted(AssertionClaim)
    /// The request was not taken by its word.
    case rejected(KeyID, wasAccepted: Bool)

    var keyID: KeyID? {
        switch self {
        case .announced: nil
        case .read(let evidence): evidence.keyID
        case .verified(let claim), .accepted(let claim): claim.keyID
        case .rejected(let keyID, _): keyID
        }
    }

    /// What its signature proves; nil before it was checked, and once it was rejected.
    var claim: AssertionClaim? {
        switch self {
        case .verified(let claim), .accepted(let claim): claim
        case .announced, .read, .rejected: nil
        }
    }

    var isAccepted: Bool {
        switch self {
        case .accepted: true
        case .rejected(_, let wasAccepted): wasAccepted
        case .announced, .read, .verified: false
        }
    }
}

/// What is left of an assertion once its signature holds: what the stores must accept.
struct AssertionClaim {
    let keyID: KeyID
    let challenge: Challenge?
    let assertion: VerifiedAssertion
}
