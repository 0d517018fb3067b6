/// The target of a request: a connection of its own, or a stream of a shared one.
protocol RequestSink: AnyObject {
    var server: PooledServer { get }
    /// The version of HTTP in which its answers come, in the form for `Via`.
    var protocolVersion: StaticString { get }
    /// Sends a request; the answer comes by its `upstream…` calls.
    func send(_ request: any UpstreamRequest)
    /// True if a byte of the request may have reached the server.
    var hasSent: Bool { get }
    /// More of a body that is not in memory has come, or the body has ended.
    func bodyCame()
    /// The client is ready for more.
    func resumeReading()
    /// The client does not wait for the answer any more.
    func abandon()
}
