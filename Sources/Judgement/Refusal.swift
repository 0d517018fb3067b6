package import KeyStore

/// Why an exchange ended without its upstream's answer.
package struct Refusal: Error, Equatable {
    package let reason: Reason
    /// Which check failed. Sent to the client only where `problem_detail` is on.
    package let cause: Cause?
    /// Human-readable, sent as the problem's `detail` (RFC 9457 section 3.1.4).
    package let explanation: StaticString?
    /// When it is worth to try again; nil for the reason's own `Retry-After`.
    package var retryAfterSeconds: UInt64?
    /// What the client should do, where that is not what it should for any such reason.
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

    /// What the registry did not do: for a failure of its own, or because of a bound.
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
