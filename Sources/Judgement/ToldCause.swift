import Attestation

extension Cause {
    /// The text for clients that are told the cause. It names no upstream's address.
    package var textForClients: String {
        guard case .upstreamFailed(let failure) = self else { return text }
        return String(failure.text.prefix { $0 != ":" })
    }
}

extension Refusal {
    /// The `code` for clients that are told the cause; nil if it is the reason's own.
    ///
    /// Both are mistakes of developers in their builds, which the public code hides among
    /// forgeries. The client cannot do anything about them, so their action is ``Action/none``.
    package var exactCode: StaticString? {
        switch cause {
        case .check(.environment): return "environment_not_allowed"
        case .check(.appMismatch): return "app_mismatch"
        case .enrolmentFailed(let failure), .evidenceFailed(let failure):
            switch failure.kind {
            case .environmentNotAllowed: return "environment_not_allowed"
            case .appMismatch: return "app_mismatch"
            case .malformed, .deviceRefused, .unavailable, .other: return nil
            }
        default: return nil
        }
    }
}
