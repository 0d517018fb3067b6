import Attestation
import GatewayTokens
import Judgement
import KeyStore

/// The facts that a proof itself tells, as far as the gateway has come with it.
///
/// They are read once for each step of the proof and kept next to it. A proof is large, a request
/// reads these facts a dozen times, and each look into the proof would copy it.
struct ProofFacts {
    var kind: ProofKind?
    /// The key that the request says it is from.
    var keyID: KeyID?
    /// The app that the proof names. An assertion names none, because its key was enrolled for one.
    var appID: String?
    /// The environment, production or development.
    var environment: AttestEnvironment?
    /// The platform and the place of the key, by a token.
    var platform: PlatformName?
    var securityLevel: SecurityLevel?
    /// The installation, by a token of a key that has taken the place of another.
    var installation: InstallationID?
    /// The app's version.
    var bundleVersion: String?
    /// How the app was distributed.
    var validationCategory: UInt32?
    /// True if the proof itself is authentic, whatever else the route demands.
    var isAuthentic = false
    /// The counter of an authentic assertion.
    var counter: UInt32?

    /// Replaces them by those of `proof`.
    mutating func read(_ proof: Proof) {
        self = ProofFacts()
        kind = proof.kind
        switch proof {
        case .none, .foreign: break
        case .assertion(.verified(let claim)):
            keyID = claim.keyID
            isAuthentic = true
            counter = claim.counter
            bundleVersion = claim.request.facts.bundleVersion
            validationCategory = claim.request.facts.validationCategory
        case .assertion(let assertion): keyID = assertion.keyID
        case .sessionToken(let proof):
            guard let opened = proof.opened else { return }
            isAuthentic = true
            keyID = opened.token.keyID
            appID = opened.token.appID
            environment = opened.token.environment
            platform = opened.token.platform
            securityLevel = opened.token.securityLevel
            installation = opened.token.installation
            bundleVersion = opened.token.bundleVersion
            validationCategory = opened.token.validationCategory
        case .developerToken(let proof): appID = proof.token?.appID
        case .deviceToken(let proof): environment = proof.environment
        }
    }
}
