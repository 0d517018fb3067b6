import Judgement

/// What became of the assertion of a request that was refused: whether it may be sent again.
enum AssertionOutcome: String {
    /// It was not accepted, and no store holds anything against it.
    case unspent
    /// It was accepted, now or before.
    case spent
    /// A store was asked and did not say: it may have been accepted.
    case unknown
}

extension AssertionProver {
    /// Nil where there was none to be read.
    func assertionOutcome(after refusal: Refusal) -> AssertionOutcome? {
        guard case .assertion(let proof) = prover.proof, proof.keyID != nil else { return nil }
        if proof.isAccepted { return .spent }
        switch refusal.reason {
        case .assertionReplayed where refusal.cause == nil: return .spent
        case .storeUnavailable where exchange.phase == .advanceCounter:
            // Where the counters were not asked at all nothing happened.
            return refusal.cause == .check(.counters) ? .unspent : .unknown
        default: return .unspent
        }
    }
}
