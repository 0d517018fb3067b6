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
    /// Connections of each worker, busy or idle; what comes beyond waits in ``queue``.
    public var connectionCountMax = 1024
    public var requestsPerConnectionMax = 10_000
    public var queue = QueueSettings()
    public var ejection = EjectionSettings()
    public var healthCheck: HealthCheckSettings?
    public var paths = UpstreamPaths()
    /// How long a server that returns takes to get its whole share. Zero means at once.
    public var slowStart: Duration = .zero
    public var retries = RetrySettings()
    /// How often names are resolved again. Zero means never.
    public var resolveInterval: Duration = .seconds(30)
    /// The identity token's settings, or nil for requests without one.
    public var identity: UpstreamIdentity?
    /// The TLS settings, or nil for no TLS.
    public var tls: UpstreamTLSSettings?
    /// The protocol that is spoken to all of the servers.
    public var `protocol` = HTTPProtocol.http1
    public var http2 = HTTP2ClientLimits()
    /// After so long without a word from a server with requests in progress it is asked whether it
    /// is there, and has as long to answer; zero for never.
    public var pingInterval: Duration = .zero

    /// Servers of equal weight.
    public init(name: String, servers: [Endpoint]) {
        self.name = name
        self.servers = servers.map { UpstreamServer($0) }
    }
}

/// One entry of `servers`. A name that stands for several addresses is as many servers, alike.
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
    /// So many in a row; 0 for never.
    public var failureCount = 3
    public var window: Duration = .seconds(30)
    /// The first time; each further one in a row lasts twice as long, up to ``timeMax``.
    public var time: Duration = .seconds(10)
    public var timeMax: Duration = .seconds(300)
    public var sharePercent = 50

    public init() {}
}

/// Requests of the gateway's own that find out whether a server works.
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

/// Requests that are sent again, where that is safe.
public struct RetrySettings: Hashable, Sendable {
    public var countMax = 2
    public var budgetPercent = 20
    /// A try without an answer's head after so long is given up for the next, where one is allowed;
    /// nil: it has all of the response time-out.
    public var timeout: Duration?
}
