/// The call with which a proxy asks about a request. It reads the request that the call describes,
/// and writes the answer in the proxy's dialect.
///
/// It may change the question, and has the intake put the described request in the place of the
/// call.
struct CheckCall: ExchangePart {
    let exchange: Exchange

    @inline(__always) var state: State { exchange.checkCallState }

    /// The proxy's question; nil if the request itself came here.
    @inline(__always) var question: CheckQuestion? { state.question }

    /// The record of the call.
    final class State {
        var question: CheckQuestion? = nil

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            if question != nil { question = nil }
        }
    }
}
