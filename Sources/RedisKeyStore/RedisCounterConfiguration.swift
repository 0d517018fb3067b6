public import Redis

/// The configuration of counters in Redis.
public struct RedisCounterConfiguration: Hashable, Sendable {
    /// The connection settings, with one server, or with those of a cluster that are asked first.
    public var connection: RedisConfiguration
    /// The Sentinels that know the server. They then name the endpoint of ``connection``.
    public var sentinel: RedisSentinelConfiguration?
    /// True if keys are spread over the masters of a cluster.
    public var isCluster = false
    /// The replicas that should have an accepted counter before its request goes on.
    public var wait: RedisWait?
    /// The prefix of all keys. It has no `{`, because otherwise the hash tag of a device would not
    /// be one.
    public var keyPrefix = "sallyport:"
    /// The time for which a device's counter is kept after its last accepted request.
    ///
    /// Its end makes no counter acceptable again: an accepted counter is refused through its spent
    /// challenge until that challenge has expired, and afterwards because the challenge has. What
    /// ends is the memory that recognises a cloned key by a counter that stands still or goes back,
    /// down to the floor in the registry.
    public var deviceLifetime: Duration = .seconds(30 * 24 * 3600)
    /// The time for which a spent mark is kept after the challenge's end: much longer than the
    /// server's clock may go back unnoticed.
    public var grace: Duration = .seconds(60)
    /// The interval at which the server is asked if it still has the same incarnation, and a
    /// cluster for the slots of each master.
    public var checkInterval: Duration = .seconds(1)

    public init(connection: RedisConfiguration) { self.connection = connection }
}

/// The use of `WAIT`: written data should have reached replicas.
public struct RedisWait: Hashable, Sendable {
    public var replicaCount: Int
    public var timeout: Duration

    public init(replicaCount: Int, timeout: Duration) {
        self.replicaCount = replicaCount
        self.timeout = timeout
    }
}
