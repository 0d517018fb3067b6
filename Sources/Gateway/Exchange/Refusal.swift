import KeyStore

/// Why an exchange ended without its upstream's answer.
struct Refusal: Error, Equatable {
    let reason: Reason
    /// Which check failed. Never sent to the client.
    let cause: Cause?
    /// Human-readable, sent as the problem's `detail` (RFC 9457 section 3.1.4).
    let explanation: StaticString?
    /// When it is worth to try again; nil for the reason's own `Retry-After`.
    var retryAfterSeconds: UInt64?
    /// What the client should do, where that is not what it should for any such reason.
    let action: Reason.Action?

    init(
        _ reason: Reason, _ cause: Cause? = nil, explanation: StaticString? = nil,
        action: Reason.Action? = nil
    ) {
        self.action = action
        self.reason = reason
        self.cause = cause
        self.explanation = explanation
    }

    init(
        _ reason: Reason, _ check: Cause.Check, explanation: StaticString? = nil,
        action: Reason.Action? = nil
    ) {
        self.init(reason, .check(check), explanation: explanation, action: action)
    }

    /// What the registry did not do: for a failure of its own, or because too many wait for it.
    init(_ error: StoreError) {
        switch error.kind {
        case .failure: self.init(.storeUnavailable, .registry)
        case .queueFull: self.init(.gatewayBusy, .registryQueue)
        }
    }

    static func == (left: Refusal, right: Refusal) -> Bool {
        left.reason == right.reason && left.cause == right.cause
    }
}

/// What was decided about a request: the `decision` label of log and metrics.
enum Decision: UInt8, CaseIterable, Sendable {
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
    var forwards: Bool {
        switch self {
        case .passed, .verified, .observed, .developer, .tolerated, .limited, .unjudged: true
        case .undecided, .refused, .answered: false
        }
    }

    var name: StaticString {
        switch self {
        case .undecided: "undecided"
        case .passed: "passed"
        case .verified: "verified"
        case .observed: "observed"
        case .developer: "developer"
        case .tolerated: "tolerated"
        case .limited: "limited"
        case .unjudged: "unjudged"
        case .refused: "refused"
        case .answered: "answered"
        }
    }
}
