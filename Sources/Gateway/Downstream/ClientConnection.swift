import EventLoop

/// A client's connection as its worker keeps it, whatever protocol it speaks.
protocol ClientConnection: AnyObject {
    /// Index in the worker's table.
    var slot: Int { get set }
    /// Its place in the quota of its address; nil without such a limit.
    var share: ConnectionShare? { get set }
    /// Who said in a PROXY header for whom it comes; nil where nobody did.
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
}
