import AppAttest

extension Cause {
    /// The text where clients are told it. They learn no upstream's address.
    package var textForClients: String {
        guard case .upstreamFailed(let failure) = self else { return text }
        return String(failure.text.prefix { $0 != ":" })
    }
}

extension Refusal {
    /// The `code` that a client is told where it is told the cause; nil where that is the reason's.
    ///
    /// Both are mistakes that developers make with builds, and that the public code hides among
    /// forgeries. Nothing that the client could do would help, so their action is ``Action/none``.
    package var exactCode: StaticString? {
        switch cause {
        case .attestationFailed(.environmentNotAllowed), .check(.environment):
            "environment_not_allowed"
        case .attestationFailed(.appMismatch), .assertionFailed(.appMismatch), .check(.appMismatch):
            "app_mismatch"
        default: nil
        }
    }
}
