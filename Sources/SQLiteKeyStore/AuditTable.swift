import EventLoop
import KeyStore
import SQLite

/// The statements of `audit` on one connection. The caller runs the transactions.
final class AuditTable {
    private let connection: Connection
    private let insert: Statement
    private let prune: Statement

    private static let columns =
        "at, way, who, origin, request, action, subject, outcome, detail"

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        insert = try connection.prepare(
            "INSERT INTO audit (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        prune = try connection.prepare(
            """
            DELETE FROM audit
            WHERE number <= (SELECT max(number) FROM audit) - \(AuditEntry.keptCountMax)
            """)
    }

    /// Adds entries, if there is an author.
    func append(_ notes: [AuditNote], by author: AuditAuthor?) throws(SQLiteError) {
        guard let author, !notes.isEmpty else { return }
        let milliseconds = WallClock.milliseconds()
        for note in notes {
            defer { insert.reset() }
            try insert.bind(1, milliseconds)
            let texts = [
                author.way.rawValue, author.name, author.origin, author.requestID, note.action,
                note.subject, note.outcome, note.detail,
            ]
            for (index, text) in texts.enumerated() {
                try insert.bind(Int32(index + 2), text: text)
            }
            try insert.run()
        }
        defer { prune.reset() }
        try prune.run()
    }

    /// One page, the newest entry first.
    func entries(_ filter: AuditFilter) throws(SQLiteError) -> [AuditEntry] {
        let statement = try connection.prepare(
            """
            SELECT number, \(Self.columns) FROM audit
            WHERE number < ?1 AND number > ?2 AND at >= ?3 ORDER BY number DESC LIMIT ?4
            """)
        try statement.bind(1, filter.before ?? .max)
        try statement.bind(2, filter.after ?? 0)
        try statement.bind(3, filter.since ?? 0)
        try statement.bind(4, Int64(max(0, filter.countMax)))
        var entries: [AuditEntry] = []
        while try statement.step() {
            func text(_ column: Int32) -> String { statement.text(column) ?? "" }
            guard let way = AuditAuthor.Way(rawValue: text(2)) else {
                throw SQLiteError(extendedCode: 11, message: "a row of audit is invalid")
            }
            let author = AuditAuthor(
                way: way, name: text(3), origin: text(4), requestID: text(5))
            let note = AuditNote(
                action: text(6), subject: text(7), outcome: text(8), detail: text(9))
            entries.append(
                AuditEntry(
                    number: statement.integer(0), milliseconds: statement.integer(1),
                    author: author, note: note))
        }
        return entries
    }
}
