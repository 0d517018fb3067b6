import Bytes

/// Writes the request head for the upstream: what the client sent, less what only the gateway may
/// say, plus what the gateway says.
///
/// It may change that head alone.
struct HeadRewriter: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.rewriterState }

    /// The request head. A small body follows it in the same write.
    @inline(__always) var upstreamHead: ByteBuffer {
        _read { yield state.upstreamHead }
        nonmutating _modify { yield &state.upstreamHead }
    }

    /// The head that is written.
    final class State {
        fileprivate(set) var upstreamHead: ByteBuffer = ByteBuffer()

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            upstreamHead.clear(keepingAtMost: keptByteCountMax)
        }
    }
}
