/// The facts by which a server of an upstream is chosen.
struct ServerLoad: Equatable {
    var weight = 1
    /// Takes requests only if no other server can.
    var isBackup = false
    /// Neither ejected, nor down by its health check, nor at its limit of connections.
    var isUsable = true
    /// Requests of this worker that the server has and has not answered.
    var activeCount = 0
    /// Says which server it is, the same in every worker and after every reload.
    var identity: UInt64 = 0
}
