import KeyStore
import Postgres

/// Leads a new connection to the point where it may be used: sets it up, checks the server and the
/// tables, makes tables or brings them up to date, and prepares statements. Touches no socket.
struct RegistryOpening {
    /// The treatment of missing or older tables.
    enum Tables {
        case made
        case required
        /// Tables are not needed, only looked at.
        case optional
    }

    private enum Stage {
        case beginning
        case looking
        case readingVersion
        case locking
        case readingVersionLocked
        case migrating
        case preparing
    }

    /// The facts that the server states about itself.
    struct Facts: Hashable, Sendable {
        var serverVersion: Int64 = 0
        var isReadOnly = false
        var hasTables = false
        var synchronousCommit = ""
        var synchronisesDisk = true
        var writesFullPages = true
        var standbyCount: Int64 = 0
        var lineage: ServerLineage?
        /// True if the server has told if it is a primary, and of which history.
        var isPlaced = false
    }

    private let schema: PostgresSchema
    private let tables: Tables
    private let listens: Bool
    private let statementMilliseconds: Int64
    private let pin: LineagePin?
    private var stage = Stage.beginning
    private var hasSchema = false
    private var host: PostgresConfiguration.Host?
    private(set) var facts = Facts()

    /// `pin`: for a session beside others.
    init(
        _ configuration: PostgresRegistryConfiguration, tables: Tables, listens: Bool = false,
        pin: LineagePin? = nil
    ) {
        schema = PostgresSchema(name: configuration.schema)
        self.pin = pin
        self.tables = tables
        self.listens = listens
        let (seconds, attoseconds) = configuration.connection.commandTimeout.components
        statementMilliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }

    /// The opening of another connection.
    var again: RegistryOpening {
        var opening = self
        opening.stage = .beginning
        return opening
    }

    /// `host`: the server that the session leads to.
    mutating func step(
        after outcomes: [PostgresOutcome]?, at host: PostgresConfiguration.Host?
    ) -> PostgresOpeningStep {
        guard let outcomes else {
            self.host = host
            stage = .looking
            return .run([settings, look])
        }
        for case .failed(let error) in outcomes { return refused(error) }
        switch stage {
        case .beginning: return .refused("registry: an answer before a question", isPermanent: true)
        case .looking: return look(at: outcomes)
        case .readingVersion:
            guard let version = version(outcomes.first?.rows) else { return notOurs }
            if version > PostgresSchema.version { return newer(version) }
            return version < PostgresSchema.version && tables != .optional ? lock() : prepare()
        case .locking:
            guard case .rows(let rows)? = outcomes.last else { return notOurs }
            if rows.integer(0, 0) == 1 {
                stage = .readingVersionLocked
                return .run([.statement(readVersion)])
            }
            hasSchema = rows.integer(0, 1) == 1
            return migrate(from: 0)
        case .readingVersionLocked:
            guard let version = version(outcomes.first?.rows) else { return notOurs }
            if version > PostgresSchema.version { return newer(version) }
            return migrate(from: version)
        case .migrating: return prepare()
        case .preparing: return .finished
        }
    }

    // MARK: looking

    /// The settings of a session. Whatever is acknowledged is durable, whatever the database's
    /// default; no statement and no lock waits forever; no name is looked up in schemas that others
    /// may write. No warning is suppressed, because a warning says that a commit did not wait for a
    /// standby.
    private var settings: PostgresRequest {
        .statement(
            """
            SELECT set_config('statement_timeout', $1::bigint::text, false),
                set_config('lock_timeout', $1::bigint::text, false),
                set_config('idle_in_transaction_session_timeout', $1::bigint::text, false),
                set_config('search_path', 'pg_catalog', false),
                set_config('client_min_messages', 'warning', false),
                set_config('synchronous_commit',
                    CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                    ELSE current_setting('synchronous_commit') END, false)
            """, .integer(statementMilliseconds))
    }

    private var look: PostgresRequest {
        .statement(
            """
            SELECT current_setting('server_version_num')::bigint,
                pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
                to_regclass($1::text) IS NOT NULL, current_setting('synchronous_commit'),
                current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
                (SELECT count(*) FROM pg_stat_replication),
                (SELECT system_identifier FROM pg_control_system()),
                CASE WHEN pg_is_in_recovery() THEN 0 ELSE
                    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END
            """, .text(schema.table("registry")))
    }

    private mutating func look(at outcomes: [PostgresOutcome]) -> PostgresOpeningStep {
        guard let rows = outcomes.last?.rows, rows.count == 1 else { return notOurs }
        facts = Facts(
            serverVersion: rows.integer(0, 0) ?? 0, isReadOnly: rows.integer(0, 1) != 0,
            hasTables: rows.integer(0, 2) == 1, synchronousCommit: rows.text(0, 3) ?? "",
            synchronisesDisk: rows.integer(0, 4) == 1, writesFullPages: rows.integer(0, 5) == 1,
            standbyCount: rows.integer(0, 6) ?? 0)
        guard facts.serverVersion >= PostgresSchema.serverVersionMin else {
            return .refused(
                "registry: PostgreSQL 13 or later is needed, the server is version"
                    + " \(facts.serverVersion / 10_000)", isPermanent: true)
        }
        // The timeline of a standby reads as 0.
        facts.isPlaced = rows.integer(0, 7) != nil && (!facts.isReadOnly || rows.integer(0, 8) == 0)
        guard !facts.isReadOnly else {
            return .refused(
                "registry: the server is a standby or read-only: name the primary, or all servers"
                    + " of the cluster", isPermanent: false)
        }
        guard let cluster = rows.integer(0, 7), let timeline = rows.integer(0, 8) else {
            return notOurs
        }
        let lineage = ServerLineage(cluster: cluster, timeline: timeline)
        if let refusal = pin?.refusal(of: lineage, at: host) {
            return .refused(refusal.reason, isPermanent: refusal.isPermanent)
        }
        facts.lineage = lineage
        if facts.hasTables {
            stage = .readingVersion
            return .run([.statement(readVersion)])
        }
        if tables == .optional { return .finished }
        guard tables == .made else {
            return .refused(
                "registry: there are no tables in schema \(schema.name)",
                isPermanent: pin == nil)
        }
        return lock()
    }

    private var readVersion: String { "SELECT version FROM \(schema.table("registry"))" }

    private func version(_ rows: PostgresRows?) -> Int64? {
        guard let rows, rows.count == 1, let version = rows.integer(0, 0), version > 0 else {
            return nil
        }
        return version
    }

    // MARK: making tables

    private mutating func lock() -> PostgresOpeningStep {
        stage = .locking
        return .run([
            .statement(PostgresSchema.begin),
            // Gateways that start together make the tables one after another.
            .statement(
                "SELECT pg_advisory_xact_lock($1::bigint::integer, hashtext($2::text))",
                .integer(PostgresSchema.lockNumber), .text(schema.name)),
            .statement(
                "SELECT to_regclass($1::text) IS NOT NULL, to_regnamespace($2::text) IS NOT NULL",
                .text(schema.table("registry")), .text("\"\(schema.name)\"")),
        ])
    }

    private mutating func migrate(from version: Int64) -> PostgresOpeningStep {
        stage = .migrating
        // An index of a large table takes longer than any request may. The bound for locks stays,
        // because a statement that waits for a lock holds up those behind it.
        let seconds = PostgresSession.longRunTimeout.components.seconds
        var steps: [PostgresRequest] = [.statement("SET LOCAL statement_timeout = '\(seconds)s'")]
        // A user who may not make schemas may have been given one.
        if version == 0, !hasSchema { steps.append(.statement("CREATE SCHEMA \"\(schema.name)\"")) }
        if version < PostgresSchema.version { steps += schema.migration(from: version) }
        return .runLong(steps + [.statement("COMMIT")])
    }

    private mutating func prepare() -> PostgresOpeningStep {
        stage = .preparing
        // Listening begins first: later changes are announced, earlier ones are read.
        let hearing: [PostgresRequest] =
            listens
            ? [.statement("LISTEN \(PostgresSchema.channel)")] + schema.hearingPreparations : []
        return .run(hearing + schema.preparations)
    }

    // MARK: refusals

    private func newer(_ version: Int64) -> PostgresOpeningStep {
        .refused(
            "registry: written by a later version (schema \(version), this version knows"
                + " \(PostgresSchema.version)); run that version", isPermanent: true)
    }

    private var notOurs: PostgresOpeningStep {
        .refused(
            "registry: schema \(schema.name) holds tables of another program", isPermanent: true)
    }

    /// Classes 08, 53, 55, 57 and 40 pass by themselves: a connection, resources, a lock, an
    /// operator, a conflict. So does 01: a commit that no standby has confirmed.
    private func refused(_ error: PostgresServerError) -> PostgresOpeningStep {
        let passes = ["01", "08", "40", "53", "55", "57", "25"].contains(
            String(error.state.prefix(2)))
        return .refused("registry: \(error)", isPermanent: !passes)
    }
}
