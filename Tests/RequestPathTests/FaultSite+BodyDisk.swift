import GatewayTesting

extension FaultSite {
    /// Starts a gateway that keeps bodies beyond 1 KiB on `disk`. `timeouts` is what its
    /// configuration says of them.
    func start(bodiesOn disk: LoopFileSystem, timeouts: String) throws -> GatewayProcess {
        configuration.more += [
            "limits: { temporary_directory: \(disk.path), body_memory: 1KiB, body: 4MiB }",
            "timeouts: { \(timeouts) }",
        ]
        return try start()
    }
}
