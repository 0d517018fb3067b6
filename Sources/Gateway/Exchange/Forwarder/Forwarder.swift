/// Takes a connection to the upstream, sends the request, and relays the answer to the client.
///
/// It may change the attempts, the upstream's connection, the place that the request holds, the
/// wait for the client, and the tunnel.
struct Forwarder: ExchangePart {
    let exchange: Exchange

    @inline(__always) var state: State { exchange.forwarderState }

    /// The connection to the upstream; nil while the request has none.
    @inline(__always) var upstream: (any RequestSink)? { state.upstream }

    /// The attempts so far.
    @inline(__always) var attempts: UpstreamAttempts { state.attempts }

    /// How long the upstream has been waiting for the client.
    @inline(__always) var clientWait: ClientWait { state.clientWait }

    /// How far the request has come to being a WebSocket.
    @inline(__always) var tunnel: TunnelProgress { state.tunnel }

    /// The state of forwarding.
    final class State {
        var upstream: (any RequestSink)? = nil
        var attempts: UpstreamAttempts = UpstreamAttempts()
        /// The request's place among those of its client; nil if it holds none.
        var place: HeldPlace? = nil
        var clientWait: ClientWait = ClientWait()
        var tunnel: TunnelProgress = TunnelProgress()

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            upstream = nil
            attempts = UpstreamAttempts()
            clientWait = ClientWait()
            tunnel = TunnelProgress()
        }
    }
}
