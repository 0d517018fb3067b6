/// What was decided about a request: the `decision` label of log and metrics.
package enum Decision: UInt8, CaseIterable, Sendable {
    /// No route or endpoint has been reached yet.
    case undecided
    /// A route with mode `off`: forwarded without a look.
    case passed
    /// Verified and forwarded.
    case verified
    /// Would have been refused; forwarded because the route (or the key's cohort) only observes.
    case observed
    /// Forwarded by the word of a developer's token.
    case developer
    /// Forwarded by the word of another issuer's token.
    case foreign
    /// Fell short of what its route demands; forwarded because the route lets such requests pass.
    case tolerated
    /// Fell short likewise; forwarded because the rate limit for such requests had room.
    case limited
    /// Could not be judged, since a store did not answer; forwarded because the route says `pass`.
    case unjudged
    /// Not forwarded, or the upstream's answer could not be had.
    case refused
    /// Answered by one of the gateway's own endpoints.
    case answered

    /// Whether a request about which that was decided goes to an upstream.
    package var forwards: Bool {
        switch self {
        case .passed, .verified, .observed, .developer, .foreign, .tolerated, .limited,
            .unjudged:
            true
        case .undecided, .refused, .answered: false
        }
    }

    package var name: StaticString {
        switch self {
        case .undecided: "undecided"
        case .passed: "passed"
        case .verified: "verified"
        case .observed: "observed"
        case .developer: "developer"
        case .foreign: "foreign"
        case .tolerated: "tolerated"
        case .limited: "limited"
        case .unjudged: "unjudged"
        case .refused: "refused"
        case .answered: "answered"
        }
    }
}
