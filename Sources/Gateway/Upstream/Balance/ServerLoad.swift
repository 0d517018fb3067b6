/// The facts by which a server of an upstream is chosen.
struct ServerLoad: Equatable {
    var weight = 1
    /// True if the server is used only if no other server can be.
    var isBackup = false
    /// True if the server is neither ejected, nor down by its health check, nor at its limit of
    /// connections.
    var isUsable = true
    /// The requests of this worker that the server has not answered yet.
    var activeCount = 0
    /// The number that identifies the server, the same in every worker and after every reload.
    var identity: UInt64 = 0
}
