import Attestation
import Bytes
import Crypto
import KeyStore
import Postgres

/// The state of receipts in SQL.
struct RenewalStatements {
    let schema: PostgresSchema

    static let stateColumns = """
        kind, created_at, not_before, expires_at, due_at, attempted_at, outcome, failures
        """

    private var renewals: String { schema.table("renewals") }
    private var keys: String { schema.table("keys") }

    // MARK: statements that every connection prepares

    static let due = "due"
    static let backlog = "backlog"
    static let renew = "renew"

    var preparations: [PostgresRequest] {
        [
            .prepare(
                Self.due,
                """
                SELECT key_id, public_key, receipt, risk_metric, \(Self.stateColumns)
                FROM (
                    SELECT key_id, \(Self.stateColumns) FROM \(renewals)
                    WHERE app_id = $1 AND environment = $2::bigint AND due_at <= $3
                    ORDER BY due_at LIMIT $4
                ) AS found JOIN \(keys) USING (key_id)
                WHERE receipt IS NOT NULL AND public_key IS NOT NULL ORDER BY due_at
                """),
            .prepare(
                Self.backlog,
                """
                SELECT (SELECT count(*) FROM (
                        SELECT FROM \(renewals)
                        WHERE app_id = $1 AND environment = $2::bigint AND due_at <= $3
                        LIMIT \(ReceiptBacklog.countMax)) AS counted),
                    (SELECT min(due_at) FROM \(renewals)
                        WHERE app_id = $1 AND environment = $2::bigint AND due_at IS NOT NULL)
                """),
            // The lease is not locked: a holder that has just lost it notices by due_at, which the
            // next holder has changed.
            .prepare(
                Self.renew,
                """
                WITH renewed AS (
                    UPDATE \(renewals) SET kind = $3::bigint, created_at = $4::bigint,
                        not_before = $5::bigint, expires_at = $6::bigint, due_at = $7::bigint,
                        attempted_at = $8::bigint, outcome = $9::bigint, failures = $10::bigint
                    WHERE key_id = $1::bytea AND due_at = $2::bigint AND EXISTS (
                        SELECT FROM \(schema.table("shared_state"))
                        WHERE name = $13::text AND term = $14::bigint)
                    RETURNING key_id),
                kept AS (
                    UPDATE \(keys) SET receipt = coalesce($11::bytea, receipt),
                        risk_metric = coalesce($12::bigint, risk_metric)
                    WHERE key_id = (SELECT key_id FROM renewed)
                        AND ($11::bytea IS NOT NULL OR $12::bigint IS NOT NULL))
                SELECT key_id FROM renewed
                """),
        ]
    }

    // MARK: statements of the keys command

    var makeDue: String {
        """
        UPDATE \(renewals) SET due_at = greatest($2::bigint, not_before), failures = 0
        WHERE key_id = $1 AND (due_at IS NULL OR due_at > greatest($2::bigint, not_before))
        RETURNING due_at
        """
    }

    var isKnown: String { "SELECT 1 FROM \(renewals) WHERE key_id = $1" }

    // MARK: rows

    static func request(_ query: DueReceiptQuery) -> PostgresRequest {
        .prepared(
            due, .text(query.group.appID), .integer(query.group.environment.code),
            .integer(query.dueBy), .integer(Int64(max(0, query.countMax))))
    }

    static func request(_ group: ReceiptGroup, now: Int64) -> PostgresRequest {
        .prepared(
            backlog, .text(group.appID), .integer(group.environment.code), .integer(now))
    }

    static func due(
        _ rows: PostgresRows, of group: ReceiptGroup
    ) throws(StoreError) -> [DueReceipt] {
        var found: [DueReceipt] = []
        for row in 0..<rows.count {
            guard let digest = rows.bytes(row, 0).flatMap({ Bytes32($0) }),
                let publicKey = P256PublicKey(stored: rows.bytes(row, 1)),
                let receipt = rows.bytes(row, 2), let state = RegistryRows.state(rows, row, 4),
                let dueAt = state.dueAt
            else { throw StoreError("registry: a receipt belongs to no key") }
            found.append(
                DueReceipt(
                    keyID: KeyID(digest: digest), publicKey: publicKey, group: group,
                    receipt: receipt, state: state, dueAt: dueAt,
                    riskMetric: rows.integer(row, 3).map { UInt32(clamping: $0) }))
        }
        return found
    }

    static func backlog(_ rows: PostgresRows) -> ReceiptBacklog {
        guard rows.count == 1 else { return ReceiptBacklog() }
        return ReceiptBacklog(
            dueCount: Int(rows.integer(0, 0) ?? 0), firstDueAt: rows.integer(0, 1))
    }

    var tables: [String] {
        [
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
        ]
    }
}
