public import HTTP2

/// A group of servers that do the same work.
public struct UpstreamSettings: Hashable, Sendable {
    public var name: String
    public var servers: [UpstreamServer]
    public var balance = BalancePolicy.roundRobin
    public var connectTimeout: Duration = .seconds(5)
    public var sendTimeout: Duration = .seconds(60)
    public var responseTimeout: Duration = .seconds(60)
    public var readTimeout: Duration = .seconds(60)
    public var idleTimeout: Duration = .seconds(60)
    public var idleConnectionCountMax = 256
    /// Connections of each worker, busy or idle. Requests beyond them wait in ``queue``.
    public var connectionCountMax = 1024
    public var requestsPerConnectionMax = 10_000
    public var queue = QueueSettings()
    public var ejection = EjectionSettings()
    public var healthCheck: HealthCheckSettings?
    public var paths = UpstreamPaths()
    /// The time in which a server that returns gets its whole share. Zero means at once.
    public var slowStart: Duration = .zero
    public var retries = RetrySettings()
    /// The time after which names are resolved again. Zero means never.
    public var resolveInterval: Duration = .seconds(30)
    /// The identity token's settings, or nil for requests without one.
    public var identity: UpstreamIdentity?
    /// The TLS settings, or nil for no TLS.
    public var tls: UpstreamTLSSettings?
    /// The protocol that is spoken to all of the servers.
    public var `protocol` = HTTPProtocol.http1
    public var http2 = HTTP2ClientLimits()
    /// The silence of a server with requests in progress after which it gets a PING, and the time
    /// that it then has to answer. Zero means never.
    public var pingInterval: Duration = .zero

    /// An upstream with servers of equal weight.
    public init(name: String, servers: [Endpoint]) {
        self.name = name
        self.servers = servers.map { UpstreamServer($0) }
    }
}

/// One entry of `servers`. A name with several addresses stands for as many equal servers.
public struct UpstreamServer: Hashable, Sendable {
    public var endpoint: Endpoint
    public var weight = 1
    public var isBackup = false
    /// Connections of each worker to this server; nil for no bound of its own.
    public var connectionCountMax: Int?

    public init(_ endpoint: Endpoint, weight: Int = 1, isBackup: Bool = false) {
        self.endpoint = endpoint
        self.weight = weight
        self.isBackup = isBackup
    }
}

/// The way in which a request's server is chosen.
public enum BalancePolicy: String, CaseIterable, Sendable {
    /// The servers take turns, by weight.
    case roundRobin = "round_robin"
    /// The one with the fewest requests of this worker in progress, for its weight.
    case leastConnections = "least_connections"
    /// Always the same for one attested key (for one client address, without a key).
    case hashKey = "hash_key"
}

/// Requests that wait while every connection is busy.
public struct QueueSettings: Hashable, Sendable {
    public var requestCountMax = 0
    public var timeout: Duration = .seconds(5)
}

/// The settings by which failed requests take a server out for a while.
public struct EjectionSettings: Hashable, Sendable {
    /// The number of failures in a row that ejects a server; 0 for never.
    public var failureCount = 3
    public var window: Duration = .seconds(30)
    /// The length of the first ejection. Each further one in a row lasts twice as long, up to
    /// ``timeMax``.
    public var time: Duration = .seconds(10)
    public var timeMax: Duration = .seconds(300)
    public var sharePercent = 50

    public init() {}
}

/// The gateway's own requests that find out whether a server works.
public struct HealthCheckSettings: Hashable, Sendable {
    public var path = "/"
    /// The `Host` field, or nil for the server's address.
    public var host: String?
    public var interval: Duration = .seconds(5)
    public var timeout: Duration = .seconds(2)
    public var riseCount = 2
    public var fallCount = 3
    public var status: ClosedRange<Int> = 200...399

    public init() {}
}

/// The settings for sending requests again, if that is safe.
public struct RetrySettings: Hashable, Sendable {
    public var countMax = 2
    public var budgetPercent = 20
    /// The time after which a try without the head of an answer is given up, if another one is
    /// allowed; nil if each try has the whole response time-out.
    public var timeout: Duration?
}
