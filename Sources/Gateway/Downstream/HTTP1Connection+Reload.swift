import Bytes
import EventLoop
import Settings

/// The effect of a listener's reload on a connection.
extension HTTP1Connection {
    func follow(_ change: ListenerChange) {
        listener = change.context
        isPeerTrusted = listener.trusts(peer)
        // An incomplete head belongs to the next request.
        if state == .readingHead, let exchange {
            exchange.client.listener = listener
            exchange.client.isPeerTrusted = isPeerTrusted
            exchange.site = services.site
        }
        switch change.ending(saidBy: proxy) {
        case .none: break
        case .gently: endGently()
        case .atOnce: endAtOnce()
        }
    }

    /// Ends the connection with the next answer, which says so. An idle client is left alone for a
    /// while, so that few find the connection closed under a request.
    private func endGently() {
        guard ending == .none else { return }
        ending = .gently
        let farewell = DelayedCall(wheel: services.deadlines) { [unowned self] in farewellIsOver() }
        farewell.set(afterNanoseconds: Gateway.farewell.wholeNanoseconds)
        self.farewell = farewell
    }

    private func farewellIsOver() {
        ending = .atOnce
        guard let exchange, exchange.forwarder.tunnel.isOpen else { return drain() }
        let end = DelayedCall(wheel: services.deadlines) { [unowned self] in endTunnel() }
        end.set(afterNanoseconds: services.site.settings.timeouts.tunnelDrain.wholeNanoseconds)
        farewell = end
    }

    private func endAtOnce() {
        ending = .atOnce
        switch state {
        case .idle where output.isEmpty: close()
        case .readingHead where output.isEmpty: lose()
        case .idle, .readingHead: finish()
        case .exchanging: if exchange?.forwarder.tunnel.isOpen == true { endTunnel() }
        case .finishing, .lingering, .closed: break
        }
    }

    /// Ends the connection after the answers that wait for the client. A request that it may have
    /// begun is dropped.
    func finish() {
        state = .finishing
        guard let begun = exchange else { return }
        begun.downstreamIsLost()
        exchange = nil
        worker.giveBack(begun)
    }

    /// Ends a tunnel that was being agreed upon, outside the calls of its upstream's connection.
    func endTunnelSoon() {
        let end = DelayedCall(wheel: services.deadlines) { [unowned self] in endTunnel() }
        end.set(afterNanoseconds: 0)
        farewell = end
    }
}
