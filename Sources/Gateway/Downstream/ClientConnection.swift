/// A client's connection as its worker keeps it, whatever protocol it speaks.
protocol ClientConnection: AnyObject {
    /// Index in the worker's table.
    var slot: Int { get set }
    /// The worker is stopping: the connection ends after the answers to what it has sent.
    func drain()
    /// The client is gone, or must go, without another word.
    func lose()
}
