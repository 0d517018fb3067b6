/// Takes a connection to the upstream, sends the request, and relays the answer to the client.
///
/// It may change the attempts, the place that the request holds, and the tunnel.
struct Forwarder: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.forwarderState }

    /// The upstream's connection, while there is one.
    @inline(__always) var upstream: (any RequestSink)? {
        _read { yield state.upstream }
        nonmutating _modify { yield &state.upstream }
    }

    /// The tries so far.
    @inline(__always) var attempts: UpstreamAttempts {
        _read { yield state.attempts }
        nonmutating _modify { yield &state.attempts }
    }

    /// The place of the request among those of its client.
    @inline(__always) var place: HeldPlace? {
        _read { yield state.place }
        nonmutating _modify { yield &state.place }
    }

    /// How long the upstream has been waiting for the client.
    @inline(__always) var clientWait: ClientWait {
        _read { yield state.clientWait }
        nonmutating _modify { yield &state.clientWait }
    }

    /// The way of the request to become a WebSocket.
    @inline(__always) var tunnel: TunnelProgress {
        _read { yield state.tunnel }
        nonmutating _modify { yield &state.tunnel }
    }

    /// How far forwarding has come.
    final class State {
        fileprivate(set) var upstream: (any RequestSink)? = nil
        fileprivate(set) var attempts: UpstreamAttempts = UpstreamAttempts()
        fileprivate(set) var place: HeldPlace? = nil
        fileprivate(set) var clientWait: ClientWait = ClientWait()
        fileprivate(set) var tunnel: TunnelProgress = TunnelProgress()

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            upstream = nil
            attempts = UpstreamAttempts()
            clientWait = ClientWait()
            tunnel = TunnelProgress()
        }
    }
}
