public import Redis

/// Everything that counters in Redis need to know.
public struct RedisCounterConfiguration: Hashable, Sendable {
    public var connection: RedisConfiguration
    /// What all keys begin with. Without `{`, or the hash tag of a device would not be one.
    public var keyPrefix = "sallyport:"
    /// How long a device's counter is kept after its last accepted request.
    ///
    /// Its end resurrects no counter: whatever was accepted is refused through its spent challenge
    /// until that challenge has expired, and afterwards because it has. What ends is the memory
    /// that tells a cloned key by a counter that stands still or goes back, down to the floor in
    /// the registry.
    public var deviceLifetime: Duration = .seconds(30 * 24 * 3600)
    /// Added to the remaining life of a challenge, for which its spent mark is kept: gateways and
    /// Redis may disagree about the time by this much.
    public var clockSkew: Duration = .seconds(60)
    /// How often the server is asked whether it still lives under the same incarnation.
    public var checkInterval: Duration = .seconds(1)

    public init(connection: RedisConfiguration) { self.connection = connection }
}
