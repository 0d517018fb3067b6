/// Reads an assertion, binds it to its request, has its signature checked and its counter accepted.
///
/// It may change the proof of its ``Prover``, and the memory that evidence is decoded into.
struct AssertionProver: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.assertionsState }

    /// The memory that proofs are decoded into.
    @inline(__always) var evidenceStorage: EvidenceStorage {
        _read { yield state.evidenceStorage }
        nonmutating _modify { yield &state.evidenceStorage }
    }

    /// The memory of an assertion.
    final class State {
        fileprivate(set) var evidenceStorage: EvidenceStorage = EvidenceStorage()

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            evidenceStorage.forget(keepingAtMost: keptByteCountMax)
        }
    }
}
