public import Postgres

/// The configuration of a registry in PostgreSQL.
public struct PostgresRegistryConfiguration: Hashable, Sendable {
    public var connection: PostgresConfiguration
    /// The schema's name: lower-case letters, digits and `_` only.
    public var schema = "sallyport"
    /// The number of connections for look-ups and writes; one more waits for changes.
    public var poolCount = 4
    /// The most operations that may wait; one more is refused at once.
    public var queueCountMax = 10_000
    /// The time after the last moment at which all changes were known for which cached records are
    /// used.
    public var staleMax: Duration = .seconds(600)

    public init(connection: PostgresConfiguration) { self.connection = connection }
}
