import Bytes

/// Writes the request head for the upstream: the client's fields without those that only the
/// gateway may set, and the gateway's own. It also writes the answers of routes without an
/// upstream.
///
/// It may change that head alone.
struct HeadRewriter: ExchangePart {
    let exchange: Exchange

    @inline(__always) var state: State { exchange.rewriterState }

    /// The head that is being written.
    final class State {
        /// The request head. A small body follows it in the same write.
        var upstreamHead: ByteBuffer = ByteBuffer()

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            upstreamHead.clear(keepingAtMost: keptByteCountMax)
        }
    }
}
