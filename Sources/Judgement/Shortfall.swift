/// In what way a request falls short of what its route demands.
package enum Shortfall {
    /// It has no proof.
    case missing
    /// Its proof does not hold.
    case invalid
    /// A store did not answer, so the proof could not be judged.
    case unjudged
    /// Its proof holds, and is worth less than the route wants.
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
    /// Which of the route's policies has a say in it; nil where none has.
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

    /// By whatever proof: the app is right, and this route is not for it.
    package static let appMismatch = Refusal(.distributionNotAllowed, .appMismatch)
}
