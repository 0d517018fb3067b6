/// The call by which a proxy asks about a request: reads the request that it describes, and writes
/// the answer in the words of the dialect.
struct CheckCall: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.checkCallState }

    /// What the proxy asks about; nil if the request came here itself.
    @inline(__always) var question: CheckQuestion? {
        _read { yield state.question }
        nonmutating _modify { yield &state.question }
    }

    /// What is known of the call.
    final class State {
        fileprivate(set) var question: CheckQuestion? = nil

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            if question != nil { question = nil }
        }
    }
}
