import EventLoop
import TLS

/// A client's connection as its worker keeps it, whatever protocol it speaks.
protocol ClientConnection: AnyObject {
    /// Index in the worker's table.
    var slot: Int { get set }
    /// Its place in the quota of its address; nil without such a limit.
    var quotaPlace: QuotaPlace? { get set }
    /// The proxy that named the client in a PROXY header, or nil if none did.
    var proxy: SocketAddress? { get set }
    var listener: ListenerContext { get }
    /// A reload has replaced what its listener stands for.
    func follow(_ change: ListenerChange)
    /// The worker is stopping: the connection ends after the answers to what it has sent.
    func drain()
    /// The worker is stopping, and does not wait for a tunnel any longer.
    func endTunnel()
    /// The client is gone, or must go, without another word.
    func lose()
}

extension ClientConnection {
    func endTunnel() {}

    /// A read has failed. The client is told of if it was the cause on purpose.
    func lose(after transport: Transport, _ worker: Worker, _ peerText: String) {
        if transport.session?.isFlooded == true {
            worker.log.repeatedEvent("tls_flood", "too many key updates by \(peerText)")
        }
        lose()
    }
}
