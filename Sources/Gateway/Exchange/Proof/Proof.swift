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

    /// The key that the request says it is from.
    var keyID: KeyID? {
        switch self {
        case .assertion(let proof): proof.keyID
        case .sessionToken(let proof): proof.token?.keyID
        case .none, .developerToken, .deviceToken, .foreign: nil
        }
    }

    /// The app that the proof names; an assertion names none, its key was enrolled for one.
    var appID: String? {
        switch self {
        case .sessionToken(let proof): proof.token?.appID
        case .developerToken(let proof): proof.token?.appID
        case .none, .assertion, .deviceToken, .foreign: nil
        }
    }

    /// Apple's environment, as far as the proof itself tells it.
    var environment: AttestEnvironment? {
        switch self {
        case .sessionToken(let proof): proof.token?.environment
        case .deviceToken(let proof): proof.environment
        case .none, .assertion, .developerToken, .foreign: nil
        }
    }

    /// The app's version, as far as the proof itself tells it.
    var bundleVersion: String? {
        switch self {
        case .assertion(let proof): proof.claim?.assertion.extensions?.bundleVersion
        case .sessionToken(let proof): proof.token?.bundleVersion
        case .none, .developerToken, .deviceToken, .foreign: nil
        }
    }

    /// How the app was distributed, as far as the proof itself tells it.
    var validationCategory: UInt32? {
        switch self {
        case .assertion(let proof): proof.claim?.assertion.extensions?.validationCategory
        case .sessionToken(let proof): proof.token?.validationCategory
        case .none, .developerToken, .deviceToken, .foreign: nil
        }
    }

    /// The session token, once it is known to be authentic.
    var sessionToken: SessionToken? {
        if case .sessionToken(let proof) = self { proof.token } else { nil }
    }

    /// Whether it is authentic by itself, whatever else the route demands.
    var isAuthentic: Bool {
        switch self {
        case .assertion(let proof): proof.claim != nil
        case .sessionToken(let proof): proof.token != nil
        case .none, .developerToken, .deviceToken, .foreign: false
        }
    }

    /// A request that brought this is not taken by its word.
    mutating func reject() {
        if case .assertion(let proof) = self, let claim = proof.claim {
            self = .assertion(.rejected(claim.keyID, wasAccepted: proof.isAccepted))
        }
    }
}
