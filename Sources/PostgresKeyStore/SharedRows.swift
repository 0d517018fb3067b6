import KeyStore
import Postgres

/// Shared values as rows of `shared_state`, and back.
extension RegistryRows {
    /// The requests of a write: replace the expected or an expired value, else insert if none was
    /// expected, and then read the present value.
    static func requests(_ write: SharedWrite) -> [PostgresRequest] {
        let name = PostgresValue.text(write.name)
        let value = PostgresValue.bytes(write.value)
        let lifetime = PostgresValue(write.lifetimeMilliseconds)
        return [
            .prepared(
                PostgresSchema.replaceShared, name, value, lifetime,
                PostgresValue(write.expected?.version), PostgresValue(write.expected?.value),
                .integer(write.takesExpired ? 1 : 0)),
            .prepared(
                PostgresSchema.insertShared, name, value, lifetime,
                .integer(write.expected == nil ? 1 : 0)),
            .prepared(PostgresSchema.shared, name),
        ]
    }

    static let sharedRequestCount = 3

    /// The outcome by those of ``requests(_:)`` in a transaction that was committed.
    static func outcome(
        of write: SharedWrite, _ outcomes: ArraySlice<PostgresOutcome>
    ) throws(StoreError) -> SharedOutcome {
        guard let rows = outcomes.last?.rows else { throw StoreError("registry: no answer") }
        return SharedOutcome(
            isWritten: outcomes.contains { $0.rowCount == 1 },
            reading: try shared(write.name, rows))
    }

    /// Parses the one row of `shared`: the store's clock, and NULLs if nothing was written.
    static func shared(_ name: String, _ rows: PostgresRows) throws(StoreError) -> SharedReading {
        guard rows.count == 1, let now = rows.integer(0, 0) else {
            throw StoreError("registry: the shared value \(name) makes no sense")
        }
        guard let value = rows.bytes(0, 1), let version = rows.integer(0, 2),
            let term = rows.integer(0, 3)
        else { return SharedReading(entry: nil, now: now) }
        let entry = SharedEntry(
            name: name, value: value, version: version, term: term, expiresAt: rows.integer(0, 4))
        return SharedReading(entry: entry, now: now)
    }
}

extension PostgresSchema {
    var sharedTables: [String] {
        [
            """
            CREATE TABLE \(table("shared_state")) (
                name text PRIMARY KEY,
                value bytea NOT NULL,
                version bigint NOT NULL,
                term bigint NOT NULL,
                expires_at bigint) WITH (fillfactor = 50)
            """
        ]
    }

    private static let milliseconds = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    /// The rules of ``SharedWrite/entry(over:at:)`` as statements.
    var sharedPreparations: [PostgresRequest] {
        let table = table("shared_state")
        let now = Self.milliseconds
        return [
            .prepare(
                Self.shared,
                """
                SELECT \(now), value, version, term, expires_at
                FROM (SELECT) AS one LEFT JOIN \(table) ON name = $1
                """),
            .prepare(
                Self.replaceShared,
                """
                UPDATE \(table) SET value = $2::bytea, version = version + 1,
                    term = term + CASE WHEN version = $4 AND value = $5 THEN 0 ELSE 1 END,
                    expires_at = \(now) + $3::bigint
                WHERE name = $1 AND (version = $4::bigint AND value = $5::bytea
                    OR $6::bigint = 1 AND (expires_at <= \(now)
                        OR expires_at > \(now) + \(SharedWrite.takenMillisecondsMax)))
                """),
            .prepare(
                Self.insertShared,
                """
                INSERT INTO \(table) (name, value, version, term, expires_at)
                SELECT $1::text, $2::bytea, 1, 1, \(now) + $3::bigint WHERE $4::bigint = 1
                ON CONFLICT DO NOTHING
                """),
        ]
    }
}
