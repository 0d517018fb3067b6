public import KeyStore
import Postgres

/// Entries of the audit log as rows of `audit`, and back.
enum AuditRows {
    /// The requests that add entries, for the end of a transaction. Empty without an author.
    static func requests(
        _ notes: [AuditNote], by author: AuditAuthor?, _ schema: PostgresSchema
    ) -> [PostgresRequest] {
        guard let author, !notes.isEmpty else { return [] }
        return notes.map { .statement(schema.insertAudit, values($0, by: author)) }
            + [.statement(schema.pruneAudit)]
    }

    /// The values of ``PostgresSchema/insertAudit``.
    static func values(_ note: AuditNote, by author: AuditAuthor) -> [PostgresValue] {
        [
            author.way.rawValue, author.name, author.origin, author.requestID, note.action,
            note.subject, note.outcome, note.detail,
        ].map(PostgresValue.text)
    }

    static func entries(_ rows: PostgresRows) throws(StoreError) -> [AuditEntry] {
        var entries: [AuditEntry] = []
        for row in 0..<rows.count {
            func text(_ column: Int) -> String { rows.text(row, column) ?? "" }
            guard let number = rows.integer(row, 0), let milliseconds = rows.integer(row, 1),
                let way = AuditAuthor.Way(rawValue: text(2))
            else { throw StoreError("registry: a row of audit makes no sense") }
            let author = AuditAuthor(
                way: way, name: text(3), origin: text(4), requestID: text(5))
            let note = AuditNote(
                action: text(6), subject: text(7), outcome: text(8), detail: text(9))
            entries.append(
                AuditEntry(
                    number: number, milliseconds: milliseconds, author: author, note: note))
        }
        return entries
    }
}

extension PostgresSchema {
    private static let auditColumns =
        "number, at, way, who, origin, request, action, subject, outcome, detail"

    var auditTables: [String] {
        [
            """
            CREATE TABLE \(table("audit")) (
                number bigint PRIMARY KEY,
                at bigint NOT NULL,
                way text NOT NULL,
                who text NOT NULL,
                origin text NOT NULL,
                request text NOT NULL,
                action text NOT NULL,
                subject text NOT NULL,
                outcome text NOT NULL,
                detail text NOT NULL)
            """
        ]
    }

    /// The row of `registry` stays locked until the commit, so that a reader who goes on from the
    /// last entry misses none.
    var insertAudit: String { insertAudit(if: "true") }

    func insertAudit(if condition: String) -> String {
        """
        WITH next AS (UPDATE \(table("registry")) SET audit = audit + 1
            WHERE \(condition) RETURNING audit)
        INSERT INTO \(table("audit")) (\(Self.auditColumns))
        SELECT audit, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $1::text, $2::text,
            $3::text, $4::text, $5::text, $6::text, $7::text, $8::text FROM next
        """
    }

    var pruneAudit: String {
        """
        DELETE FROM \(table("audit")) WHERE number <=
            (SELECT audit FROM \(table("registry"))) - \(AuditEntry.keptCountMax)
        """
    }

    /// One page, the newest entry first.
    var selectAudit: String {
        """
        SELECT \(Self.auditColumns) FROM \(table("audit"))
        WHERE number < $1::bigint AND number > $2::bigint AND at >= $3::bigint
        ORDER BY number DESC LIMIT $4::bigint
        """
    }
}

extension PostgresAdministration {
    func auditing(_ notes: [AuditNote]) -> [PostgresRequest] {
        AuditRows.requests(notes, by: author, schema)
    }

    public func append(_ note: AuditNote) throws(StoreError) {
        try transaction { () throws(StoreError) in
            _ = try session.runAll(
                [.statement(PostgresSchema.begin)] + auditing([note]) + [.statement("COMMIT")])
        }
    }

    public func audit(_ filter: AuditFilter) throws(StoreError) -> [AuditEntry] {
        let outcomes = try session.runAll([
            .statement(
                schema.selectAudit, .integer(filter.before ?? .max), .integer(filter.after ?? 0),
                .integer(filter.since ?? 0), .integer(Int64(max(0, filter.countMax))))
        ])
        guard let rows = outcomes.first?.rows else { return [] }
        return try AuditRows.entries(rows)
    }
}
