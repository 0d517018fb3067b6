import KeyStore
import Postgres

/// What is known of receipts, in SQL.
struct RenewalStatements {
    let schema: PostgresSchema

    static let stateColumns = """
        kind, created_at, not_before, expires_at, due_at, attempted_at, outcome, failures
        """

    private var renewals: String { schema.table("renewals") }
    private var keys: String { schema.table("keys") }

    /// Receipts that were kept before are due at once, as nobody has read them.
    var migration: [String] {
        [
            "ALTER TABLE \(keys) ADD COLUMN risk_metric bigint",
            """
            CREATE TABLE \(renewals) (
                key_id bytea PRIMARY KEY CHECK (octet_length(key_id) = 32),
                app_id text NOT NULL,
                environment smallint NOT NULL,
                kind smallint,
                created_at bigint,
                not_before bigint,
                expires_at bigint,
                due_at bigint,
                attempted_at bigint,
                outcome smallint,
                failures bigint NOT NULL)
            """,
            """
            CREATE INDEX renewals_due ON \(renewals) (app_id, environment, due_at)
                WHERE due_at IS NOT NULL
            """,
            """
            INSERT INTO \(renewals) (key_id, app_id, environment, due_at, failures)
                SELECT key_id, app_id, environment,
                    CASE status WHEN 0 THEN enrolled_at END, 0
                FROM \(keys) WHERE receipt IS NOT NULL
            """,
        ]
    }
}
