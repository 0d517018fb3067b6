/// What was decided about a request, and why.
package struct Outcome: Equatable {
    package var decision = Decision.undecided
    package var reason = Reason.ok
    /// What exactly, if there is more to say than the reason.
    package var cause: Cause?

    package init(_ decision: Decision = .undecided, _ reason: Reason = .ok, _ cause: Cause? = nil) {
        self.decision = decision
        self.reason = reason
        self.cause = cause
    }

    init(_ decision: Decision, _ refusal: Refusal) {
        self.init(decision, refusal.reason, refusal.cause)
    }

    /// What it would be refused for.
    var refusal: Refusal { Refusal(reason, cause) }
}
