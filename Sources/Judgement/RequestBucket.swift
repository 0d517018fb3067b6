/// The kind of an attested route's request, for the decision how far to go with a rollout.
package enum RequestBucket: UInt8, CaseIterable, Sendable {
    /// It is from a genuine instance of the app.
    case verified
    /// Another issuer vouches for it: it would have nothing to show if that did not count.
    case foreign
    /// It is from what seems to be an app too old to prove itself, or is one by its version.
    case outdatedClient
    /// It may come from anywhere: no proof, or one by a key that was never enrolled.
    case unknownOrigin
    /// Its proof holds, and is worth less than the route wants.
    case lowerTier
    /// Its proof does not hold, or is of an app or a key that the route does not take.
    case invalid
    /// Its proof has been used.
    case replayed
    /// Its challenge has run out: the app signs again.
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

    /// Whether its proof is one that its route takes.
    package var isGood: Bool { self == .verified || self == .foreign }

    /// Nil for refusals that say nothing about the proof. `seemsToBeApp`: what is known of a
    /// request without one.
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

/// What a route does with a request that it finds wrong.
package enum RolloutSide: UInt8, CaseIterable, Sendable {
    case enforced
    /// Nothing: what would have been refused is counted.
    case observed

    package var name: StaticString { self == .enforced ? "enforced" : "observed" }
}
