import Judgement

/// Carries out what the ``Judgement`` asks for, which itself asks no one: policy, cohorts and
/// signals.
///
/// It may change the judgement and the verdict, and the tallies of signals.
struct Judge: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.judgeState }

    /// What is decided about the request, so far.
    @inline(__always) var judgement: Judgement {
        _read { yield state.judgement }
        nonmutating _modify { yield &state.judgement }
    }

    /// What was decided, once that is settled.
    @inline(__always) var verdict: Verdict? {
        _read { yield state.verdict }
        nonmutating _modify { yield &state.verdict }
    }

    /// What the use of the key is counted by, once that was asked for.
    @inline(__always) var keyUseMarks: KeyUseMarks? {
        _read { yield state.keyUseMarks }
        nonmutating _modify { yield &state.keyUseMarks }
    }

    /// What is decided.
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
