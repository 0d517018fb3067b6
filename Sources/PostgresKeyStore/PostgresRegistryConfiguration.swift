public import Postgres

/// Everything that a registry in PostgreSQL needs to know.
public struct PostgresRegistryConfiguration: Hashable, Sendable {
    public var connection: PostgresConfiguration
    /// Small letters, digits and `_` only.
    public var schema = "sallyport"
    /// Connections for look-ups and writes; one more waits for changes.
    public var poolCount = 4
    /// Operations that may wait; one more is refused at once.
    public var queueCountMax = 10_000
    /// Cached records are used for no longer than this after the last moment at which all changes
    /// were known.
    public var staleMax: Duration = .seconds(600)

    public init(connection: PostgresConfiguration) { self.connection = connection }
}
