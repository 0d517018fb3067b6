import Judgement

/// Tells the client whether the assertion of a refused request can be sent again.
enum AssertionOutcome: String {
    /// No store has accepted it or remembers it.
    case unspent
    /// A store accepted it, now or earlier.
    case spent
    /// A store may have accepted it: the store was asked and did not answer, or its counter is no
    /// higher than an accepted one and no challenge tells whether it is that one.
    case unknown
}

extension AssertionProver {
    /// Nil if the request brought no assertion that could be read.
    func assertionOutcome(after refusal: Refusal) -> AssertionOutcome? {
        guard case .assertion(let proof) = prover.proof, proof.keyID != nil else { return nil }
        if state.isAccepted { return .spent }
        switch refusal.reason {
        case .assertionReplayed where refusal.cause == nil: return .spent
        case .assertionReplayed where !state.isJudgedByStore: return .unknown
        case .storeUnavailable where exchange.phase == .advanceCounter:
            // If the counters could not be asked at all, nothing was spent.
            return refusal.cause == .check(.counters) ? .unspent : .unknown
        default: return .unspent
        }
    }
}
