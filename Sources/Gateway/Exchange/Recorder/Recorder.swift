/// Writes the record of a request: its access line, spans, metrics and captures. It also decides on
/// fields of the answers.
///
/// It may change only the trace.
struct Recorder: ExchangePart {
    let exchange: Exchange

    @inline(__always) var state: State { exchange.recorderState }

    /// The trace for the request's spans; nil if it gets none.
    @inline(__always) var trace: RequestTrace? { state.trace }

    /// The request's trace.
    final class State {
        var trace: RequestTrace? = nil

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            if trace != nil { trace = nil }
        }
    }
}
