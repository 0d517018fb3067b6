public import Redis

/// Everything that counters in Redis need to know.
public struct RedisCounterConfiguration: Hashable, Sendable {
    /// The connection settings, with one server, or with those of a cluster that are asked first.
    public var connection: RedisConfiguration
    /// Sentinels that know the server; the endpoint of ``connection`` is theirs to tell then.
    public var sentinel: RedisSentinelConfiguration?
    /// Whether keys are spread over the masters of a cluster.
    public var isCluster = false
    /// Replicas that should have an accepted counter before its request goes on.
    public var wait: RedisWait?
    /// The beginning of all keys. It has no `{`, or the hash tag of a device would not be one.
    public var keyPrefix = "sallyport:"
    /// How long a device's counter is kept after its last accepted request.
    ///
    /// Its end resurrects no counter: whatever was accepted is refused through its spent challenge
    /// until that challenge has expired, and afterwards because it has. What ends is the memory
    /// that tells a cloned key by a counter that stands still or goes back, down to the floor in
    /// the registry.
    public var deviceLifetime: Duration = .seconds(30 * 24 * 3600)
    /// How long after a challenge's end its spent mark is kept: much longer than the server's clock
    /// may go back unnoticed.
    public var grace: Duration = .seconds(60)
    /// How often the server is asked whether it still has the same incarnation, and a cluster which
    /// server keeps what.
    public var checkInterval: Duration = .seconds(1)

    public init(connection: RedisConfiguration) { self.connection = connection }
}

/// `WAIT`: what was written should have reached replicas.
public struct RedisWait: Hashable, Sendable {
    public var replicaCount: Int
    public var timeout: Duration

    public init(replicaCount: Int, timeout: Duration) {
        self.replicaCount = replicaCount
        self.timeout = timeout
    }
}
