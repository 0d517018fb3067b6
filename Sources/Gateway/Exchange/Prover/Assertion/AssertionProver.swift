/// Reads an assertion, binds it to its request, and has its signature checked and its counter
/// accepted.
///
/// It may change the memory that evidence is decoded into, and tells its ``Prover`` how far the
/// proof has come.
struct AssertionProver: ExchangePart {
    let exchange: Exchange

    @inline(__always) var state: State { exchange.assertionsState }

    /// The memory for decoding.
    final class State {
        /// The memory that assertions are decoded into.
        var evidenceStorage: EvidenceStorage = EvidenceStorage()
        /// True if the counter store has judged the assertion. It looks for a spent challenge
        /// first, so any other refusal of it means that the assertion was not accepted before.
        var isJudgedByStore = false
        /// True if a store has accepted the counter: no request can use the assertion again.
        var isAccepted = false

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            evidenceStorage.forget(keepingAtMost: keptByteCountMax)
            isJudgedByStore = false
            isAccepted = false
        }
    }
}
