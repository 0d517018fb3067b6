package import KeyStore

/// The reason why an exchange ended without its upstream's answer.
package struct Refusal: Error, Equatable {
    package let reason: Reason
    /// The check that failed. Sent to the client only if `problem_detail` is on.
    package let cause: Cause?
    /// A text for people, sent as the problem's `detail` (RFC 9457 section 3.1.4).
    package let explanation: StaticString?
    /// The time after which another try makes sense; nil for the reason's own `Retry-After`.
    package var retryAfterSeconds: UInt64?
    /// The action for the client, if it is not the usual one for this reason.
    package let action: Reason.Action?

    package init(
        _ reason: Reason, _ cause: Cause? = nil, explanation: StaticString? = nil,
        action: Reason.Action? = nil
    ) {
        self.action = action
        self.reason = reason
        self.cause = cause
        self.explanation = explanation
    }

    package init(
        _ reason: Reason, _ check: Cause.Check, explanation: StaticString? = nil,
        action: Reason.Action? = nil
    ) {
        self.init(reason, .check(check), explanation: explanation, action: action)
    }

    /// The refusal for an action that the registry did not take, because it failed or because of a
    /// limit.
    package init(_ error: StoreError) {
        switch error.kind {
        case .failure: self.init(.storeUnavailable, .registry)
        case .queueFull: self.init(.gatewayBusy, .registryQueue)
        case .logFull: self.init(.storeUnavailable, .registryLog)
        }
    }

    package static func == (left: Refusal, right: Refusal) -> Bool {
        left.reason == right.reason && left.cause == right.cause
    }
}
