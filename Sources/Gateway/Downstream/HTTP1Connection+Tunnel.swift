import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

/// The client's bytes on their way through a tunnel. They stay in the input until the upstream
/// takes them, so that a slow upstream slows the client down.
extension HTTP1Connection: TunnelSink {
    func sendThroughTunnel(_ exchange: Exchange) {
        guard !input.isEmpty else { return }
        let count = exchange.forwarder.clientSentThroughTunnel(input.readable)
        input.consume(count)
        if !input.isEmpty { transport?.watchChanges() }
    }

    func endTunnelOutput() {
        guard state == .exchanging else { return }
        isTunnelOutputEnding = true
        flush()
    }

    func endTunnel() {
        guard let exchange, exchange.forwarder.tunnel.isOpen else { return }
        (exchange.forwarder.upstream as? UpstreamConnection)?.endTunnel(.tunnelDrained)
    }

    func resumeTunnel() {
        guard state == .exchanging, let exchange, exchange.forwarder.tunnel.isOpen else { return }
        sendThroughTunnel(exchange)
        guard input.isEmpty else { return }
        if hasClientEnded {
            exchange.forwarder.clientEndedTunnel()
        } else {
            transport?.enableReading()
        }
    }
}
