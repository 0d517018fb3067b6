/// Examines the proof that a request brings: reads it, looks up the record of its key, and has the
/// stores and Apple accept it. An ``AssertionProver`` does this for assertions.
///
/// It may change the proof and the record of its key.
struct Prover: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.proverState }

    /// The proof that the request brings, and how far the gateway has come with it.
    @inline(__always) var proof: Proof {
        _read { yield state.proof }
        nonmutating _modify { yield &state.proof }
    }

    /// The facts that ``proof`` tells.
    @inline(__always) var proofFacts: ProofFacts {
        _read { yield state.proofFacts }
        nonmutating _modify { yield &state.proofFacts }
    }

    /// The record of the proof's key.
    @inline(__always) var known: KnownKey {
        _read { yield state.known }
        nonmutating _modify { yield &state.known }
    }

    /// The proof and its key.
    final class State {
        fileprivate(set) var proof: Proof = Proof.none { didSet { proofFacts = ProofFacts(proof) } }
        fileprivate(set) var proofFacts: ProofFacts = ProofFacts()
        fileprivate(set) var known: KnownKey = KnownKey()

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            if proofFacts.kind != nil { proof = .none }
            if known.key != nil { known = KnownKey() }
        }
    }
}
