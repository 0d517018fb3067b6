import Bytes
import EventLoop
import HTTP
import Judgement
import Settings
import TLS

/// Brings a connection from the listener to its protocol.
extension Worker {
    /// - Parameter heldUntil: the time until which the listener was paused (``Watch/heldUntil``).
    func accepted(
        _ descriptor: Int32, _ peer: SocketAddress, _ listener: ListenerContext,
        heldUntil: MonotonicInstant = MonotonicInstant(nanoseconds: 0)
    ) {
        guard listener.expectsProxyHeader(from: peer) else {
            serve(descriptor, peer, listener, heldUntil: heldUntil)
            return
        }
        let greeting = ProxyGreeting(
            worker: self, descriptor: descriptor, peer: peer, listener: listener)
        greeting.heldUntil = heldUntil
        insert(greeting)
        greeting.start()
    }

    /// Begins the protocol on a connection of `client`, in the place of its greeting; nil if it had
    /// to be closed.
    @discardableResult
    func serve(
        _ descriptor: Int32, _ client: SocketAddress, _ listener: ListenerContext,
        heldUntil: MonotonicInstant, after greeting: ProxyGreeting? = nil
    ) -> (any ClientConnection)? {
        func take(_ connection: any ClientConnection) {
            guard let greeting else { return insert(connection) }
            replace(greeting, with: connection)
        }
        var quotaPlace: QuotaPlace?
        guard admit(client, listener, &quotaPlace) else {
            refuse(descriptor, isTLS: listener.isTLS)
            if let greeting { remove(greeting) }
            return nil
        }
        let watch = Watch(loop: services.loop, descriptor: descriptor)
        watch.heldUntil = heldUntil
        guard listener.isTLS else {
            let transport = Transport(watch: watch)
            let connection = HTTP1Connection(
                worker: self, transport: transport, peer: client, listener: listener)
            take(connection)
            connection.quotaPlace = quotaPlace
            connection.start()
            return connection
        }
        guard let context = services.site.tls.server(at: listener.bind),
            let session = try? TLSSession(server: context, descriptor: descriptor)
        else {
            Socket.close(descriptor)
            if let greeting { remove(greeting) }
            return nil
        }
        let handshake = ClientHandshake(
            worker: self, session: session, watch: watch, peer: client, listener: listener)
        take(handshake)
        handshake.quotaPlace = quotaPlace
        handshake.start()
        return handshake
    }

    /// False if `client` has as many connections as it may. Otherwise `quotaPlace` must be held for
    /// as long as the connection lives.
    private func admit(
        _ client: SocketAddress, _ listener: ListenerContext, _ quotaPlace: inout QuotaPlace?
    ) -> Bool {
        guard let countMax = services.site.settings.limits.connectionsPerAddressMax,
            listener.isBounded,
            let address = client.ipv6Form
        else { return true }
        quotaPlace = services.hub.connectionQuota.take(address.limitedNetwork, atMost: countMax)
        if quotaPlace == nil { services.meter.add(.connectionsRefused) }
        return quotaPlace != nil
    }

    /// Says why, as far as that can be said without waiting, and closes: a client that floods the
    /// listener must hold nothing.
    private func refuse(_ descriptor: Int32, isTLS: Bool) {
        if isTLS { return Socket.close(descriptor) }
        _ = Socket.write(descriptor, Self.tooManyConnections.span)
        Socket.shutdownWrite(descriptor)
        // The close would be a reset if a request that has come were not read, and a reset may
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
