import AppAttest
import GatewayTokens
import Judgement
import KeyStore
import Policy

/// What a request brings to prove itself, and how far the gateway has come with it.
///
/// Each kind has a folder beside this file. A new kind is a case here, which the compiler then asks
/// for wherever kinds are told apart, and a folder.
enum Proof {
    /// The request brings nothing that its route takes.
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

    /// The session token, once it is known to be authentic.
    var sessionToken: SessionToken? {
        if case .sessionToken(let proof) = self { proof.opened?.token } else { nil }
    }

    /// A request that brought this is not taken by its word.
    mutating func reject() {
        if case .assertion(let proof) = self, let claim = proof.claim {
            self = .assertion(.rejected(claim.keyID, wasAccepted: proof.isAccepted))
        }
    }
}
