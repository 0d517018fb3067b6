import EventLoop
import TLS

/// A client's connection in its worker's table, whatever protocol it has.
protocol ClientConnection: AnyObject {
    /// The index in the worker's table.
    var slot: Int { get set }
    /// The connection's place in the quota of its address; nil without such a limit.
    var quotaPlace: QuotaPlace? { get set }
    /// The proxy that named the client in a PROXY header, or nil if none did.
    var proxy: SocketAddress? { get set }
    var listener: ListenerContext { get }
    /// A reload has changed the settings of its listener.
    func follow(_ change: ListenerChange)
    /// The worker is stopping: the connection ends after the answers to the requests that it has
    /// sent.
    func drain()
    /// The worker is stopping, and does not wait for a tunnel any longer.
    func endTunnel()
    /// Closes without another word, because the client is gone or must go.
    func lose()
}

extension ClientConnection {
    func endTunnel() {}

    /// A read has failed. The client is reported if it caused that on purpose.
    func lose(after transport: Transport, _ services: WorkerServices, _ peerText: String) {
        if transport.session?.isFlooded == true {
            services.log.repeatedEvent("tls_flood", "too many key updates by \(peerText)")
        }
        lose()
    }
}
