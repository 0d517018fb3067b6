/// Where an exchange's request goes: a connection of its own, or a stream of a shared one.
protocol RequestSink: AnyObject {
    var server: PooledServer { get }
    /// In which its answers come, as `Via` has it.
    var protocolVersion: StaticString { get }
    /// Sends the exchange's request; the answer comes by the exchange's `upstream…` calls.
    func send(_ exchange: Exchange)
    /// More of a body that is not held has come, or its end.
    func bodyCame()
    /// The client is ready for more.
    func resumeReading()
    /// Nobody waits for the answer any more.
    func abandon()
}
