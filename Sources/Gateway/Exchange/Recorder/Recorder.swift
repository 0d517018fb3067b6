/// Writes what is left of a request: its access line, spans, metrics and captures, and the fields
/// of its answers.
///
/// It may change the trace alone.
struct Recorder: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.recorderState }

    /// The place of the request's spans; nil if it gets none.
    @inline(__always) var trace: RequestTrace? {
        _read { yield state.trace }
        nonmutating _modify { yield &state.trace }
    }

    /// The trace of the request.
    final class State {
        fileprivate(set) var trace: RequestTrace? = nil

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            if trace != nil { trace = nil }
        }
    }
}
