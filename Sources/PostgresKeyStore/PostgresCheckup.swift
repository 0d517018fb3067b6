import KeyStore
import Postgres

/// The result of one check by `doctor`.
public struct PostgresCheckupStep: Hashable, Sendable {
    public enum Verdict: Hashable, Sendable {
        case ok
        case warning
        case failure
    }

    public let verdict: Verdict
    public let name: String
    public let text: String
}

/// Does with the server what a gateway does, and reports the findings. Makes no tables.
public enum PostgresCheckup {
    /// `erasesKeys`: true if the gateway is asked to erase keys.
    public static func run(
        _ configuration: PostgresRegistryConfiguration, erasesKeys: Bool = false,
        tell: (PostgresCheckupStep) -> Void
    ) {
        func report(_ verdict: PostgresCheckupStep.Verdict, _ name: String, _ text: String) {
            tell(PostgresCheckupStep(verdict: verdict, name: name, text: text))
        }
        let session: BlockingSession
        do throws(PostgresOpenError) {
            session = try BlockingSession(configuration, tables: .optional, listens: true)
        } catch {
            return report(.failure, "connection", error.reason.description)
        }
        let facts = session.opening.facts
        let version = "\(facts.serverVersion / 10_000).\(facts.serverVersion % 10_000)"
        report(.ok, "connection", "\(session.address), PostgreSQL \(version)")
        tls(session, configuration, report)
        durability(facts, report)
        guard facts.hasTables else { return tablesToCome(session, report) }
        report(.ok, "schema", "\(configuration.schema), version \(PostgresSchema.version)")
        do throws(StoreError) {
            try privileges(session, erasesKeys: erasesKeys, report)
            try rowSecurity(session, report)
            try notification(session, report)
            let administration = try PostgresAdministration(configuration)
            let counts = try administration.counts()
            report(.ok, "keys", "\(counts.reduce(0) { $0 + $1.count })")
            for server in administration.unaskedServers {
                report(.warning, "servers", server.description)
            }
        } catch {
            report(.failure, "tables", error.description)
        }
    }

    private typealias Report = (PostgresCheckupStep.Verdict, String, String) -> Void

    private static func tls(
        _ session: BlockingSession, _ configuration: PostgresRegistryConfiguration,
        _ report: Report
    ) {
        let mode = configuration.connection.parameters["sslmode"] ?? "prefer"
        if let description = session.tlsDescription {
            let isChecked = mode == "verify-full"
            return report(
                isChecked ? .ok : .warning, "TLS",
                description + (isChecked ? "" : "; sslmode \(mode) does not check the name"))
        }
        let isUnix = configuration.connection.hosts.allSatisfy(\.isUnix)
        report(isUnix ? .ok : .warning, "TLS", isUnix ? "none, unix socket" : "none")
    }

    private static func durability(_ facts: RegistryOpening.Facts, _ report: Report) {
        var faults: [String] = []
        if !facts.synchronisesDisk { faults.append("fsync is off") }
        if !facts.writesFullPages { faults.append("full_page_writes is off") }
        if facts.synchronousCommit == "local" { faults.append("synchronous_commit is local") }
        guard faults.isEmpty else {
            return report(
                .warning, "durability",
                faults.joined(separator: ", ") + ": acknowledged enrolments can be lost")
        }
        report(
            .ok, "durability",
            "primary, synchronous_commit \(facts.synchronousCommit),"
                + " standbys: \(facts.standbyCount)")
    }

    private static func tablesToCome(_ session: BlockingSession, _ report: Report) {
        let name = session.schema.name
        let question = """
            SELECT CASE WHEN to_regnamespace(quote_ident($1::text)) IS NULL
                THEN has_database_privilege(current_database(), 'CREATE')
                ELSE has_schema_privilege($1::text, 'CREATE') END
            """
        do throws(StoreError) {
            let outcomes = try session.runAll([.statement(question, .text(name))])
            guard outcomes.first?.rows?.integer(0, 0) == 1 else {
                return report(
                    .failure, "schema",
                    "\(name) is not there, and the user lacks CREATE, which a first start needs")
            }
            report(.ok, "schema", "\(name) will be created at the first start")
        } catch {
            report(.failure, "schema", error.description)
        }
    }

    private static func privileges(
        _ session: BlockingSession, erasesKeys: Bool, _ report: Report
    ) throws(StoreError) {
        var missing: [String] = []
        let needed =
            PostgresSchema.neededPrivileges + (erasesKeys ? PostgresSchema.erasingPrivileges : [])
        for (table, privileges) in needed {
            let name = session.schema.table(table)
            let outcomes = try session.runAll(
                privileges.map {
                    .statement(
                        "SELECT has_table_privilege($1::text, $2::text)", .text(name), .text($0))
                })
            for (privilege, outcome) in zip(privileges, outcomes)
            where outcome.rows?.integer(0, 0) != 1 { missing.append("\(privilege) on \(table)") }
        }
        guard missing.isEmpty else {
            return report(
                .failure, "privileges", "the user lacks " + missing.joined(separator: ", "))
        }
        report(.ok, "privileges", "look-ups, enrolments and counters")
    }

    /// A row that a policy hides looks like a key that was never enrolled, or a change that was
    /// never made.
    private static func rowSecurity(
        _ session: BlockingSession, _ report: Report
    ) throws(StoreError) {
        let tables = PostgresSchema.neededPrivileges.map(\.table)
        let outcomes = try session.runAll(
            tables.map {
                .statement(
                    "SELECT row_security_active($1::text)", .text(session.schema.table($0)))
            })
        let limited = zip(tables, outcomes).filter { $1.rows?.integer(0, 0) == 1 }.map(\.0)
        guard !limited.isEmpty else { return }
        report(
            .warning, "row security",
            "applies to the user in \(limited.joined(separator: ", ")): each policy must show all "
                + "rows")
    }

    /// Checks notifications, which are lost if a pooler gives each transaction another connection.
    private static func notification(
        _ session: BlockingSession, _ report: Report
    ) throws(StoreError) {
        _ = try session.runAll([.statement(PostgresSchema.notify)])
        _ = try session.runAll([.prepared(PostgresSchema.probe)])
        report(
            session.wasNotified ? .ok : .warning, "notifications",
            session.wasNotified
                ? "arrive" : "do not arrive (a pooler?): changes are found by polling")
    }
}
