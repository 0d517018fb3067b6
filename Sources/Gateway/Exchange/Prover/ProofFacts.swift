import AppAttest
import GatewayTokens
import Judgement
import KeyStore

/// What a proof itself tells, as far as the gateway has come with it.
///
/// It is read once for each step of the proof, and kept beside it: a proof is large, a request is
/// asked for these a dozen times, and each look into the proof would copy it.
struct ProofFacts {
    var kind: ProofKind?
    /// The key that the request says it is from.
    var keyID: KeyID?
    /// The app that the proof names; an assertion names none, its key was enrolled for one.
    var appID: String?
    /// Apple's environment.
    var environment: AttestEnvironment?
    /// The app's version.
    var bundleVersion: String?
    /// How the app was distributed.
    var validationCategory: UInt32?
    /// Whether it is authentic by itself, whatever else the route demands.
    var isAuthentic = false
    /// The counter of an assertion that is authentic.
    var counter: UInt32?

    init() {}

    init(_ proof: Proof) {
        kind = proof.kind
        switch proof {
        case .none, .foreign: break
        case .assertion(let assertion):
            keyID = assertion.keyID
            guard let claim = assertion.claim else { return }
            isAuthentic = true
            counter = claim.assertion.counter
            bundleVersion = claim.assertion.extensions?.bundleVersion
            validationCategory = claim.assertion.extensions?.validationCategory
        case .sessionToken(let proof):
            guard let opened = proof.opened else { return }
            isAuthentic = true
            keyID = opened.token.keyID
            appID = opened.token.appID
            environment = opened.token.environment
            bundleVersion = opened.token.bundleVersion
            validationCategory = opened.token.validationCategory
        case .developerToken(let proof): appID = proof.token?.appID
        case .deviceToken(let proof): environment = proof.environment
        }
    }
}
