import Judgement

/// Carries out what the ``Judgement`` asks for: policy, cohorts and signals. The judgement itself
/// asks no store.
///
/// It may change the judgement, the verdict and the hashes that its key's use is counted by, and it
/// counts for the tallies of signals.
struct Judge: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.judgeState }

    /// The decision about the request so far.
    @inline(__always) var judgement: Judgement {
        _read { yield state.judgement }
        nonmutating _modify { yield &state.judgement }
    }

    /// The decision once it is settled; nil until then.
    @inline(__always) var verdict: Verdict? {
        _read { yield state.verdict }
        nonmutating _modify { yield &state.verdict }
    }

    /// The hashes by which the key's use is counted; nil until they are first needed.
    @inline(__always) var keyUseMarks: KeyUseMarks? {
        _read { yield state.keyUseMarks }
        nonmutating _modify { yield &state.keyUseMarks }
    }

    /// The decision about the request.
    final class State {
        fileprivate(set) var judgement: Judgement = Judgement()
        fileprivate(set) var verdict: Verdict? = nil
        fileprivate(set) var keyUseMarks: KeyUseMarks?

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            judgement = Judgement()
            verdict = nil
            if keyUseMarks != nil { keyUseMarks = nil }
        }
    }
}
