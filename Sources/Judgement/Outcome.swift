/// A decision about a request, and its reason.
package struct Outcome: Equatable {
    package var decision = Decision.undecided
    package var reason = Reason.ok
    /// The exact cause, if there is more to say than the reason.
    package var cause: Cause?

    package init(_ decision: Decision = .undecided, _ reason: Reason = .ok, _ cause: Cause? = nil) {
        self.decision = decision
        self.reason = reason
        self.cause = cause
    }

    init(_ decision: Decision, _ refusal: Refusal) {
        self.init(decision, refusal.reason, refusal.cause)
    }

    /// The refusal that the request would get.
    var refusal: Refusal { Refusal(reason, cause) }
}
