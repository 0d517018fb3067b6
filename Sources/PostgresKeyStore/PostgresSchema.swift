import KeyStore
import Postgres

/// The tables of a registry and their version, in a schema of their own.
///
/// - `registry`: one row: the version of the tables, and the numbers of the last change and of the
///   last entry of `audit`.
/// - `keys`: a row for each key. `device_bits` is null if the bits of the device are not known,
///   `platform` for Apple's. Erased keys keep their id and counter only. `keys_inactive` leads to
///   revoked and erased keys, which are few.
/// - `renewals`: the state of each receipt, and the time at which it is due to be renewed.
/// - `challenges`: attestation challenges that enrolled a key, with the time at which they were
///   spent, until they have ended for long (``RegistryExpiry``).
/// - `changes`: the last status changes, for the caches of gateways; a row without a key id stands
///   for more keys than are named. `mark` tells a row from another one of the same number, after a
///   failover that lost some.
/// - `shared_state`: small values that gateways share.
/// - `key_users`: the users that a key was used for, as HMACs.
/// - `audit`: the changes of operators.
/// - `key_certificates`: the serial numbers of the certificates that vouch for a key.
/// - `installations`: the keys of installations that have had several.
struct PostgresSchema {
    /// The schema's name in lower case. It needs no quotes, but gets them.
    let name: String

    static let version: Int64 = 1
    /// The first version with `gen_random_uuid()`.
    static let serverVersionMin: Int64 = 130_000
    /// The number of changes kept for gateways to read. A gateway that falls further behind forgets
    /// everything.
    static let changeCountMax = 10_000
    /// The channel that gateways listen to. Two registries in one database only wake each other.
    static let channel = "sallyport_changes"
    /// "SlyP", the first half of the lock under which tables are made.
    static let lockNumber: Int64 = 0x536C_7950

    static let keyColumns = """
        key_id, public_key, app_id, environment, status, counter, enrolled_at, bundle_version, \
        validation_category, risk_metric, device_bits, platform, security_level
        """

    func table(_ table: String) -> String { "\"\(name)\".\(table)" }

    /// The migrations: step n leads from version n to version n + 1. No data is ever dropped.
    private var migrations: [[String]] {
        [
            registryTables + keyTables + RenewalStatements(schema: self).tables + challengeTables
                + sharedTables + userTables + auditTables + certificateTables + installationTables
        ]
    }

    private var registryTables: [String] {
        [
            """
            CREATE TABLE \(table("registry")) (
                id boolean PRIMARY KEY DEFAULT true CHECK (id),
                version integer NOT NULL,
                revision bigint NOT NULL,
                audit bigint NOT NULL DEFAULT 0)
            """,
            """
            CREATE TABLE \(table("changes")) (
                revision bigint PRIMARY KEY,
                key_id bytea,
                mark uuid NOT NULL DEFAULT gen_random_uuid())
            """,
            "INSERT INTO \(table("registry")) (version, revision) VALUES (0, 1)",
            "INSERT INTO \(table("changes")) (revision) VALUES (1)",
        ]
    }

    private var keyTables: [String] {
        [
            // Room for two new counters a page, which PostgreSQL clears as it reads. Then 99 of 100
            // are written beside their row, and stay out of the index.
            """
            CREATE TABLE \(table("keys")) (
                key_id bytea PRIMARY KEY CHECK (octet_length(key_id) = 32),
                public_key bytea CHECK (octet_length(public_key) = 64),
                app_id text NOT NULL,
                environment smallint NOT NULL,
                status smallint NOT NULL,
                counter bigint NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
                enrolled_at bigint NOT NULL,
                bundle_version text,
                validation_category bigint,
                risk_metric bigint,
                device_bits smallint,
                platform text,
                security_level smallint,
                receipt bytea) WITH (fillfactor = 95)
            """,
            // A receipt is not compressible. Stored apart, it is not copied with each counter.
            "ALTER TABLE \(table("keys")) ALTER COLUMN receipt SET STORAGE EXTERNAL",
            "CREATE INDEX keys_inactive ON \(table("keys")) (status, key_id) WHERE status <> 0",
        ]
    }

    /// The statements from version `found` (0 for no tables at all) to the current one, without the
    /// transaction.
    func migration(from found: Int64) -> [PostgresRequest] {
        var requests: [PostgresRequest] = []
        for step in migrations.dropFirst(Int(found)) {
            requests += step.map { .statement($0) }
        }
        requests.append(
            .statement(
                "UPDATE \(table("registry")) SET version = $1::bigint", .integer(Self.version)))
        return requests
    }

    // MARK: statements that every connection prepares

    static let find = "find"
    static let spend = "spend"
    static let enrol = "enrol"
    static let state = "state"
    static let heldState = "held_state"
    static let hold = "hold"
    static let advance = "advance"
    static let raiseFloor = "raise_floor"
    static let keepBits = "keep_bits"
    static let probe = "probe"
    static let changes = "changes"
    static let lastChange = "last_change"
    static let shared = "shared"
    static let replaceShared = "replace_shared"
    static let insertShared = "insert_shared"

    var preparations: [PostgresRequest] {
        let keys = table("keys")
        let challenges = table("challenges")
        return [
            .prepare(Self.find, findPlaced),
            .prepare(
                Self.spend,
                """
                INSERT INTO \(challenges) (challenge, key_id) SELECT $1::bytea, $2::bytea
                WHERE NOT EXISTS (SELECT FROM \(keys) WHERE key_id = $2) ON CONFLICT DO NOTHING
                """),
            .prepare(
                Self.enrol,
                enrol(unless: "false")),
            .prepare(Self.state, "SELECT status, public_key, NULL FROM \(keys) WHERE key_id = $1"),
            // The lock is written to the log, so that the commit waits for every standby that must
            // have what was written before: what was not acknowledged then is now only if it is
            // there.
            .prepare(
                Self.heldState,
                "\(selectState) FOR KEY SHARE"),
            .prepare(
                Self.hold, "SELECT status FROM \(keys) WHERE key_id = $1 FOR NO KEY UPDATE"),
            .prepare(
                Self.advance,
                """
                UPDATE \(keys) SET counter = $2::bigint
                WHERE key_id = $1 AND status = 0 AND counter < $2
                """),
            .prepare(
                Self.raiseFloor,
                "UPDATE \(keys) SET counter = $2::bigint WHERE key_id = $1 AND counter < $2"),
            .prepare(
                Self.keepBits,
                """
                UPDATE \(keys) SET device_bits = $2::bigint
                WHERE key_id = $1 AND status <> \(KeyStatus.erased.code) RETURNING key_id
                """),
            .prepare(Self.findUser, findUser),
            .prepare(Self.note, note),
            .prepare(Self.dropSurplus, dropSurplus),
            .prepare(Self.dropOld, dropOld),
            .prepare(Self.dropChallenges, dropChallenges),
            .prepare(
                Self.probe,
                """
                SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
                    version FROM \(table("registry"))
                """),
        ] + RenewalStatements(schema: self).preparations + sharedPreparations
    }

    /// The statements of a session that hears of changes. Preparing waits for a lock on the table,
    /// and look-ups must not.
    var hearingPreparations: [PostgresRequest] {
        [.prepare(Self.changes, readChanges), .prepare(Self.lastChange, readLastChange)]
    }

    var readChanges: String {
        """
        SELECT revision, key_id, mark, (SELECT revision FROM \(table("registry"))) AS latest
        FROM \(table("changes")) WHERE revision >= $1 ORDER BY revision LIMIT $2
        """
    }

    var readLastChange: String {
        """
        SELECT revision, mark, (SELECT revision FROM \(table("registry"))) AS latest
        FROM \(table("changes")) ORDER BY revision DESC LIMIT 1
        """
    }

    /// The privileges that a gateway needs; `keys` needs more (`docs/operations/stores.md`).
    static let neededPrivileges: [(table: String, privileges: [String])] = [
        ("registry", ["SELECT", "UPDATE"]), ("keys", ["SELECT", "INSERT", "UPDATE"]),
        ("renewals", ["SELECT", "INSERT", "UPDATE"]),
        ("challenges", ["SELECT", "INSERT", "DELETE"]),
        ("changes", ["SELECT", "INSERT", "DELETE"]),
        ("shared_state", ["SELECT", "INSERT", "UPDATE"]),
        ("key_users", ["SELECT", "INSERT", "UPDATE", "DELETE"]),
        ("audit", ["SELECT", "INSERT", "DELETE"]),
        ("key_certificates", ["SELECT", "INSERT"]),
        ("installations", ["SELECT", "INSERT", "UPDATE"]),
    ]
    /// What a gateway needs besides to erase keys, as the admin API does.
    static let erasingPrivileges: [(table: String, privileges: [String])] = [
        ("renewals", ["DELETE"]), ("key_certificates", ["DELETE"]), ("installations", ["DELETE"]),
    ]

    // MARK: statements of the keys command

    /// Whole records, up to the condition on `key_id`, `app_id`, `environment` and `status`.
    func selectWhole(receipts: Bool) -> String {
        """
        SELECT \(Self.keyColumns), \(RenewalStatements.stateColumns), \(certificatesOfKey), \
        \(Self.placeColumns)\(receipts ? ", receipt" : "")
        FROM \(table("keys")) LEFT JOIN (
            SELECT key_id, \(RenewalStatements.stateColumns) FROM \(table("renewals"))
        ) AS stated USING (key_id) LEFT JOIN \(table("installations")) USING (key_id)
        """
    }

    var lockKey: String {
        "SELECT status FROM \(table("keys")) WHERE key_id = $1 FOR UPDATE"
    }

    /// Revokes a key for good: its receipt is not renewed any more.
    var revoke: [String] {
        [
            "UPDATE \(table("keys")) SET status = \(KeyStatus.revoked.code) WHERE key_id = $1",
            "UPDATE \(table("renewals")) SET due_at = NULL WHERE key_id = $1",
        ]
    }

    /// Leaves the id, the counter and the status. The challenge stays spent.
    var erase: [String] {
        [
            """
            UPDATE \(table("keys")) SET public_key = NULL, app_id = '', environment = 0, status = 2,
                enrolled_at = 0, bundle_version = NULL, validation_category = NULL,
                risk_metric = NULL, device_bits = NULL, platform = NULL, security_level = NULL,
                receipt = NULL
            WHERE key_id = $1
            """,
            "DELETE FROM \(table("renewals")) WHERE key_id = $1",
            "DELETE FROM \(table("key_users")) WHERE key_id = $1",
            "DELETE FROM \(table("key_certificates")) WHERE key_id = $1",
            "DELETE FROM \(table("installations")) WHERE key_id = $1",
        ]
    }

    static let importKey = "import_key"
    static let lockKey = "lock_key"

    /// The statements that an import prepares. Planned anew each time, the one that adds a key
    /// would take five times as long.
    var importPreparations: [PostgresRequest] {
        [
            .prepare(
                Self.importKey,
                """
                WITH \(insertKey) ON CONFLICT DO NOTHING RETURNING key_id), \(insertedRest)
                """),
            .prepare(Self.lockKey, lockKey),
        ]
    }

    /// Adds a key whose challenge was spent for it, unless a condition holds. The first 30 values
    /// are those of ``RegistryRows/values(_:)``, the next one is the challenge.
    func enrol(unless condition: String) -> String {
        """
        WITH \(insertKey) WHERE EXISTS (
            SELECT FROM \(table("challenges")) WHERE challenge = $31::bytea AND key_id = $1)
            AND NOT \(condition)
        ON CONFLICT DO NOTHING RETURNING key_id), \(insertedRest)
        """
    }

    /// The first 30 values are those of ``RegistryRows/values(_:)``.
    private var insertKey: String {
        """
        inserted AS (INSERT INTO \(table("keys")) (\(Self.keyColumns), receipt)
            SELECT $1::bytea, $2::bytea, $3::text, $4::bigint, $5::bigint, $6::bigint,
                $7::bigint, $8::text, $9::bigint, $10::bigint, $11::bigint, $12::text,
                $13::bigint, $14::bytea
        """
    }

    /// Inserts the state of the receipt, the certificates and the place of each inserted key.
    private var insertedRest: String {
        """
        stated AS (INSERT INTO \(table("renewals"))
            (key_id, app_id, environment, \(RenewalStatements.stateColumns))
            SELECT key_id, $3, $4, $15::bigint, $16::bigint, $17::bigint, $18::bigint, $19::bigint,
                $20::bigint, $21::bigint, $22::bigint
            FROM inserted WHERE $22 IS NOT NULL), \(insertedCertificates), \(insertedPlace)
        SELECT key_id FROM inserted
        """
    }

    /// The row of `registry` stays locked until the commit, so numbers grow in the order of commits
    /// and none is left out: a reader who goes on from the last one misses none.
    var noteChange: String { noteChange(if: "true") }

    func noteChange(if condition: String) -> String {
        """
        WITH next AS (UPDATE \(table("registry")) SET revision = revision + 1
            WHERE \(condition) RETURNING revision)
        INSERT INTO \(table("changes")) (revision, key_id) SELECT revision, $1::bytea FROM next
        """
    }

    var pruneChanges: String {
        """
        DELETE FROM \(table("changes")) WHERE revision <=
            (SELECT revision FROM \(table("registry"))) - \(Self.changeCountMax)
        """
    }

    static let notify = "SELECT pg_notify('\(channel)', '')"
    static let begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
}
