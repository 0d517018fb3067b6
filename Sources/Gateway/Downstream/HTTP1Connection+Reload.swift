import Bytes
import EventLoop
import Settings

/// The effect of a listener's reload on a connection.
extension HTTP1Connection {
    func follow(_ change: ListenerChange) {
        listener = change.context
        isPeerTrusted = listener.trusts(peer)
        // A head that is not whole yet is the next request's.
        if state == .readingHead, let exchange {
            exchange.client.listener = listener
            exchange.client.isPeerTrusted = isPeerTrusted
            exchange.site = worker.site
        }
        switch change.ending(saidBy: proxy) {
        case .none: break
        case .gently: endGently()
        case .atOnce: endAtOnce()
        }
    }

    /// The next answer says so; who asks for nothing is left alone for a while, so that few find
    /// the connection closed under a request.
    private func endGently() {
        guard ending == .none else { return }
        ending = .gently
        let farewell = DelayedCall(wheel: worker.deadlines) { [unowned self] in farewellIsOver() }
        farewell.set(afterNanoseconds: Gateway.farewell.wholeNanoseconds)
        self.farewell = farewell
    }

    private func farewellIsOver() {
        ending = .atOnce
        guard let exchange, exchange.forwarder.tunnel.isOpen else { return drain() }
        let end = DelayedCall(wheel: worker.deadlines) { [unowned self] in endTunnel() }
        end.set(afterNanoseconds: worker.site.settings.timeouts.tunnelDrain.wholeNanoseconds)
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

    /// The answers that wait for the client are whole; the request that it may have begun is not.
    private func finish() {
        state = .finishing
        guard let begun = exchange else { return }
        begun.downstreamIsLost()
        exchange = nil
        worker.giveBack(begun)
    }

    /// A tunnel that was being agreed upon: it ends outside the calls of its upstream's connection.
    func endTunnelSoon() {
        let end = DelayedCall(wheel: worker.deadlines) { [unowned self] in endTunnel() }
        end.set(afterNanoseconds: 0)
        farewell = end
    }
}
