/// The decision about a request: the `decision` label of log and metrics.
package enum Decision: UInt8, CaseIterable, Sendable {
    /// No route or endpoint has been reached yet.
    case undecided
    /// Forwarded without a check, by a route with mode `off`.
    case passed
    /// Verified and forwarded.
    case verified
    /// Forwarded although it would have been refused, because the route (or the key's cohort) only
    /// observes.
    case observed
    /// Forwarded for a developer token.
    case developer
    /// Forwarded for a token of another issuer.
    case foreign
    /// Forwarded although it falls short of its route's demands, because the route lets such
    /// requests pass.
    case tolerated
    /// Forwarded although it falls short, because the rate limit for such requests had room.
    case limited
    /// Forwarded although a store did not answer, because the route says `pass`.
    case unjudged
    /// Not forwarded, or the upstream gave no answer.
    case refused
    /// Answered by one of the gateway's own endpoints.
    case answered

    /// True if a request with this decision goes to an upstream.
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
