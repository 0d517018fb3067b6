import Bytes
import EventLoop
import HTTP
import Policy
import Settings

/// A client's connection that can carry bytes both ways once its request was upgraded: HTTP/1.1.
protocol TunnelSink: ResponseSink {
    /// The upstream takes more of what the client sends.
    func resumeTunnel()
    /// The upstream sends no more, and hears on.
    func endTunnelOutput()
}

/// `Upgrade: websocket` (RFC 6455, RFC 9110 section 7.8): after the upstream's 101 the body of the
/// answer goes on, and what the client sends goes the other way, until both have ended. Each end is
/// passed on by itself: what was sent before it, and what the other side still has to say, arrives.
extension Forwarder {
    /// The route lets the request become a tunnel, if it asks for one.
    func askForTunnel() { tunnel.isAsked = asksForWebSocket }

    /// Whether the request may become a tunnel: asked for once, clearly, and without a body, whose
    /// end client and upstream could see in different places.
    private var asksForWebSocket: Bool {
        guard head.hasUpgrade, head.version == .http11, head.methodKind == .get,
            head.framing == .none, exchange.downstream is any TunnelSink
        else { return false }
        let bytes = headBytes.span
        var isAsked = false
        for field in head.fields where field.known == .upgrade {
            guard !isAsked, bytes.extracting(field.value).isWebSocket else { return false }
            isAsked = true
        }
        return isAsked
    }

    /// The upstream has agreed.
    func upstreamSwitched(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {
        tunnel.isOpen = true
        worker.meter.tunnelOpened()
        // HTTP/1.1, whose clients take every head.
        _ = upstreamSentHead(response, bytes: bytes)
    }

    /// What the client sent; returns how many bytes the upstream's connection took.
    func clientSentThroughTunnel(_ bytes: Span<UInt8>) -> Int {
        guard let upstream = upstream as? UpstreamConnection else { return bytes.count }
        let count = upstream.sendThroughTunnel(bytes)
        tunnel.byteCount += count
        return count
    }

    /// The client sends no more, and hears on.
    func clientEndedTunnel() { (upstream as? UpstreamConnection)?.endTunnelInput() }

    /// The upstream sends no more, and hears on.
    func upstreamEndedTunnel() { (exchange.downstream as? any TunnelSink)?.endTunnelOutput() }

    /// The upstream takes more.
    func upstreamIsReady() { (exchange.downstream as? any TunnelSink)?.resumeTunnel() }
}

extension Span where Element == UInt8 {
    /// Whether it is the one protocol that is let through.
    var isWebSocket: Bool { ASCII.equalsIgnoringCase(self, lowercase: webSocketName) }
}

private let webSocketName = Array("websocket".utf8)
