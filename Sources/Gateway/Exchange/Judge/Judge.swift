import Judgement

/// Carries out what the ``Judgement`` asks for: policy, cohorts and signals. The judgement itself
/// asks no store.
///
/// It may change the judgement, the verdict and the hashes that its key's use is counted by, and it
/// counts for the tallies of signals.
struct Judge: ExchangePart {
    let exchange: Exchange

    @inline(__always) var state: State { exchange.judgeState }

    /// The decision about the request.
    final class State {
        /// The decision so far.
        var judgement: Judgement = Judgement()
        /// The decision once it is settled; nil until then.
        var verdict: Verdict? = nil
        /// The hashes by which the key's use is counted; nil until they are first needed.
        var keyUseMarks: KeyUseMarks?

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            judgement = Judgement()
            verdict = nil
            if keyUseMarks != nil { keyUseMarks = nil }
        }
    }
}
