import Bytes
import EventLoop
import HTTP
import Policy
import Settings

/// A client's HTTP/1.1 connection, which can carry bytes both ways once its request was upgraded.
protocol TunnelSink: ResponseSink {
    /// The upstream can take more of the client's bytes.
    func resumeTunnel()
    /// The upstream sends no more, but still reads.
    func endTunnelOutput()
}

/// `Upgrade: websocket` (RFC 6455, RFC 9110 section 7.8). After the upstream's 101, its bytes go to
/// the client as the body of the answer, and the client's bytes go to the upstream, until both
/// sides have ended. The end of one side is passed on by itself, so that the bytes before it, and
/// those that the other side still sends, arrive.
extension Forwarder {
    /// Makes the request a tunnel if it asks for one, on a route that allows it.
    func askForTunnel() { state.tunnel.isAsked = asksForWebSocket }

    /// True if the request may become a tunnel: it asks for one exactly once, and has no body,
    /// whose end the client and the upstream could see in different places.
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

    /// The upstream has agreed to the upgrade.
    func upstreamSwitched(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {
        state.tunnel.isOpen = true
        services.meter.tunnelOpened()
        // This is HTTP/1.1, whose clients accept every head.
        _ = upstreamSentHead(response, bytes: bytes)
    }

    /// Passes the client's bytes on. Returns how many the upstream's connection took.
    func clientSentThroughTunnel(_ bytes: Span<UInt8>) -> Int {
        guard let upstream = upstream as? UpstreamConnection else { return bytes.count }
        let count = upstream.sendThroughTunnel(bytes)
        state.tunnel.byteCount += count
        return count
    }

    /// The client sends no more, but still reads.
    func clientEndedTunnel() { (state.upstream as? UpstreamConnection)?.endTunnelInput() }

    /// The upstream sends no more, but still reads.
    func upstreamEndedTunnel() { (exchange.downstream as? any TunnelSink)?.endTunnelOutput() }

    /// The upstream can take more bytes.
    func upstreamIsReady() { (exchange.downstream as? any TunnelSink)?.resumeTunnel() }
}

extension Span where Element == UInt8 {
    /// True if the value is `websocket`, the only protocol that the gateway upgrades to.
    var isWebSocket: Bool { ASCII.equalsIgnoringCase(self, lowercase: webSocketName) }
}

private let webSocketName = Array("websocket".utf8)
