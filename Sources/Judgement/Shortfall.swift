/// The way in which a request falls short of its route's demands.
package enum Shortfall {
    /// The request has no proof.
    case missing
    /// The proof is invalid.
    case invalid
    /// A store did not answer, so the proof could not be judged.
    case unjudged
    /// The proof is valid, but of a lower tier than the route demands.
    case lowerTier

    /// The word in `X-Attest-Result`.
    package var result: StaticString {
        switch self {
        case .missing: "missing"
        case .invalid: "invalid"
        case .unjudged: "unverified"
        case .lowerTier: "verified"
        }
    }
}

extension Refusal {
    /// The shortfall whose policy decides about such a refusal; nil if none does.
    package var shortfall: Shortfall? {
        switch reason {
        case .assertionRequired: cause == .check(.tier) ? .lowerTier : .missing
        case .riskTooHigh: cause == .check(.tier) ? .lowerTier : nil
        case .tokenInvalid, .deviceTokenInvalid:
            cause == .check(.tokenMissing) ? .missing : .invalid
        case .assertionMalformed, .assertionInvalid, .assertionReplayed, .challengeExpired,
            .challengeRequired, .requestMismatch, .bodyMismatch, .keyUnknown, .keyRevoked:
            .invalid
        case .storeUnavailable: .unjudged
        default: nil
        }
    }

    /// The app is right, but this route is not for it, whatever the proof is.
    package static let appMismatch = Refusal(.distributionNotAllowed, .appMismatch)
}
