/// Examines the proof that a request brings: reads it, looks up the record of its key, and has the
/// stores and Apple accept it. An ``AssertionProver`` does this for assertions.
///
/// It may change the proof and the record of its key.
struct Prover: ExchangePart {
    let exchange: Exchange

    @inline(__always) var state: State { exchange.proverState }

    /// The proof that the request brings, and how far the gateway has come with it.
    @inline(__always) var proof: Proof { state.proof }

    /// The facts that ``proof`` tells.
    @inline(__always) var proofFacts: ProofFacts { state.proofFacts }

    /// The record of the proof's key.
    @inline(__always) var known: KnownKey { state.known }

    /// The proof and its key.
    final class State {
        private(set) var proof: Proof = Proof.none
        private(set) var proofFacts: ProofFacts = ProofFacts()
        var known: KnownKey = KnownKey()

        /// Notes the next step of the proof, and the facts that it tells.
        func take(_ next: Proof) {
            proofFacts.read(next)
            proof = next
        }

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            if proofFacts.kind != nil { take(.none) }
            // A comparison with nil would copy the record.
            if case .some = known.key { known = KnownKey() }
        }
    }
}
