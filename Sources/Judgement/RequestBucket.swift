/// The kind of an attested route's request, for the decision how far to go with a rollout.
package enum RequestBucket: UInt8, CaseIterable, Sendable {
    /// The request is from a genuine instance of the app.
    case verified
    /// Another issuer vouches for the request. Without that, it would have no proof.
    case foreign
    /// The app seems to be too old to prove itself, or is too old by its version.
    case outdatedClient
    /// The request may come from anywhere: it has no proof, or one by a key that was never
    /// enrolled.
    case unknownOrigin
    /// The proof is valid, but of a lower tier than the route demands.
    case lowerTier
    /// The proof is invalid, or of an app or a key that the route does not accept.
    case invalid
    /// The proof has been used before.
    case replayed
    /// The challenge of the proof has expired; the app signs again.
    case stale
    /// A store did not answer, or could not be asked.
    case unjudged

    package var name: StaticString {
        switch self {
        case .verified: "verified"
        case .foreign: "foreign"
        case .outdatedClient: "outdated_client"
        case .unknownOrigin: "unknown_origin"
        case .lowerTier: "lower_tier"
        case .invalid: "invalid"
        case .replayed: "replayed"
        case .stale: "stale"
        case .unjudged: "unjudged"
        }
    }

    /// True if it says something about how a rollout goes. A request that its app will sign again
    /// is counted then, and a store's failure is not the client's.
    package var isJudged: Bool {
        switch self {
        case .verified, .foreign, .outdatedClient, .unknownOrigin, .lowerTier, .invalid,
            .replayed:
            true
        case .stale, .unjudged: false
        }
    }

    /// True if the route accepts its proof.
    package var isGood: Bool { self == .verified || self == .foreign }

    /// Nil for refusals that say nothing about the proof. `seemsToBeApp` is the gateway's guess
    /// about a request without a proof.
    package init?(_ refusal: Refusal, seemsToBeApp: Bool) {
        switch refusal.shortfall {
        case .missing: self = seemsToBeApp ? .outdatedClient : .unknownOrigin
        case .lowerTier: self = .lowerTier
        case .unjudged: self = .unjudged
        case .invalid: self = Self(refusal.reason) ?? .invalid
        case nil: self.init(refusal.reason)
        }
    }

    private init?(_ reason: Reason) {
        switch reason {
        case .appOutdated: self = .outdatedClient
        case .keyUnknown: self = .unknownOrigin
        case .assertionMalformed, .assertionInvalid, .requestMismatch, .bodyMismatch, .keyRevoked,
            .distributionNotAllowed, .attestationInvalid, .tokenInvalid, .riskTooHigh,
            .abuseSuspected:
            self = .invalid
        case .assertionReplayed: self = .replayed
        case .challengeExpired, .challengeRequired: self = .stale
        case .gatewayBusy: self = .unjudged
        default: return nil
        }
    }
}

/// The treatment of faulty requests by a route.
package enum RolloutSide: UInt8, CaseIterable, Sendable {
    case enforced
    /// They are forwarded, and counted as refusals that would have been.
    case observed

    package var name: StaticString { self == .enforced ? "enforced" : "observed" }
}
