import Bytes
import EventLoop
import HTTP
import Settings

/// The way of a connection from the listener to its protocol.
extension Worker {
    func accepted(_ descriptor: Int32, _ peer: SocketAddress, _ listener: ListenerContext) {
        guard listener.expectsProxyHeader(from: peer) else {
            return serve(descriptor, peer, listener)
        }
        let greeting = ProxyGreeting(
            worker: self, descriptor: descriptor, peer: peer, listener: listener)
        greetings.insert(greeting)
        greeting.start()
    }

    /// False where `client` has as many connections as it may: this one is closed. Otherwise
    /// `share` is to be held for as long as the connection lives.
    func admit(
        _ descriptor: Int32, _ client: SocketAddress, _ listener: ListenerContext,
        _ share: inout ConnectionShare?
    ) -> Bool {
        guard let countMax = site.settings.limits.connectionsPerAddressMax, !listener.isAdmin,
            let address = client.ipv6Form
        else { return true }
        share = hub.connectionQuota.take(address.limitedNetwork, atMost: countMax)
        if share != nil { return true }
        meter.add(.connectionsRefused)
        refuse(descriptor)
        return false
    }

    /// Says why, as far as that can be said without waiting for anything, and closes: whoever
    /// floods must hold nothing.
    private func refuse(_ descriptor: Int32) {
        _ = Socket.write(descriptor, Self.tooManyConnections.span)
        Socket.shutdownWrite(descriptor)
        // A request that has come and is not read would make a reset of the close, which may
        // overtake the answer.
        var scrap = ByteBuffer(capacity: HTTP1Connection.readByteCount)
        _ = Socket.read(descriptor, into: &scrap, atMost: HTTP1Connection.readByteCount)
        Socket.close(descriptor)
    }

    private static let tooManyConnections: [UInt8] = {
        let reason = Reason.rateLimited
        let title = StatusPhrase.text(for: reason.status)
        let body = """
            {"type":"about:blank","title":"\(title)","status":\(reason.status),\
            "code":"\(reason.code)","action":"\(reason.action.rawValue)"}
            """
        let head = """
            HTTP/1.1 \(reason.status) \(title)\r\nContent-Type: application/problem+json\r\n\
            Cache-Control: no-store\r\nRetry-After: 1\r\nConnection: close\r\n\
            Content-Length: \(body.utf8.count)\r\n\r\n
            """
        return Array((head + body).utf8)
    }()
}
