import Attestation
import GatewayTokens
import Judgement
import KeyStore
import Policy

/// The proof that a request brings, and how far the gateway has come with it.
///
/// Each kind has a folder next to this file. A new kind needs a folder and a case here; the
/// compiler then names each place that tells kinds apart.
enum Proof {
    /// The request brings no proof that its route accepts.
    case none
    case assertion(AssertionProof)
    case sessionToken(SessionTokenProof)
    case developerToken(DeveloperTokenProof)
    case deviceToken(DeviceTokenProof)
    case foreign(ForeignTokenProof)

    var kind: ProofKind? {
        switch self {
        case .none: nil
        case .assertion: .assertion
        case .sessionToken: .sessionToken
        case .developerToken: .developerToken
        case .deviceToken: .deviceToken
        case .foreign: .foreign
        }
    }

    /// The session token, once its authenticity is known.
    var sessionToken: SessionToken? {
        if case .sessionToken(let proof) = self { proof.opened?.token } else { nil }
    }
}
