public struct UpstreamSettings: Hashable, Sendable {
    public var name: String
    public var servers: [Endpoint]
    public var connectTimeout: Duration = .seconds(5)
    /// From the end of the request to the head of the answer, and between reads of its body.
    public var responseTimeout: Duration = .seconds(60)
    /// How long an idle connection is kept.
    public var idleTimeout: Duration = .seconds(60)
    /// Idle connections kept by each worker.
    public var idleConnectionCountMax = 64
    /// Connections of each worker, busy or idle; requests beyond are refused with 503.
    public var connectionCountMax = 1024

    public init(name: String, servers: [Endpoint]) {
        self.name = name
        self.servers = servers
    }
}
