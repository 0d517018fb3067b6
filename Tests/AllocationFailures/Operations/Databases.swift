import GatewayTesting
import Glibc
import SQLite

extension Operation {
    /// What the registry has SQLite do.
    static func databases(_ inputs: Inputs) throws -> [Operation] {
        let path = inputs.directory.path(of: "rows.db")
        try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
            try connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, name, bytes BLOB)")
            _ = try connection.enableWriteAheadLog()
        }
        let connection = try Connection(path: path)
        for row in StoredRow.examples { try row.insert(connection) }
        return [
            Operation("SQLite: opened", of: .sqlite) {
                .good { try !Connection(path: path).isInTransaction }
            },
            Operation("SQLite: created", of: .sqlite) { created(in: inputs.directory) },
            Operation("SQLite: read", of: .sqlite) {
                .same(as: StoredRow.examples) { try StoredRow.all(Connection(path: path)) }
            },
            Operation("SQLite: written", of: .sqlite) { written(path) },
            Operation("SQLite: checked", of: .sqlite) {
                .same(as: nil) { try Connection(path: path).damage() }
            },
            Operation("SQLite: copied", of: .sqlite) { copied(path, in: inputs.directory) },
        ]
    }

    /// A new file is there whole or not at all.
    private static func created(in directory: ScratchDirectory) -> Outcome {
        let path = directory.path(of: "created.db")
        defer { for end in ["", "-wal", "-shm", "-journal"] { remove(path + end) } }
        var isMade = true
        do throws(DatabaseFileError) {
            try DatabaseFile.create(path: path, mustBeNew: true) { made throws(SQLiteError) in
                try made.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, name, bytes BLOB)")
                for row in StoredRow.examples { try row.insert(made) }
            }
        } catch {
            isMade = false
        }
        return Starvation.sated {
            guard isMade else {
                return DatabaseFile.content(at: path) == .missing
                    ? .refused : .wrong("half a database")
            }
            return .same(as: StoredRow.examples) { try StoredRow.all(Connection(path: path)) }
        }
    }

    /// A transaction that was acknowledged is there, and one that was not is not.
    private static func written(_ path: String) -> Outcome {
        let id: Int64 = 1000
        var isWritten = true
        do throws(SQLiteError) {
            let connection = try Connection(path: path)
            try connection.transaction(.immediate) { () throws(SQLiteError) in
                try StoredRow(id: id, name: "new", bytes: [1, 2, 3]).insert(connection)
                try StoredRow(id: id + 1, name: nil, bytes: nil).insert(connection)
            }
        } catch {
            isWritten = false
        }
        return Starvation.sated {
            do {
                let connection = try Connection(path: path)
                let count = try connection.integer("SELECT count(*) FROM rows WHERE id >= \(id)")
                try connection.execute("DELETE FROM rows WHERE id >= \(id)")
                guard count == (isWritten ? 2 : 0) else {
                    return .wrong("\(count ?? -1) rows, and it was written: \(isWritten)")
                }
                return isWritten ? .right : .refused
            } catch {
                return .wrong("the database is lost: \(error)")
            }
        }
    }

    private static func copied(_ path: String, in directory: ScratchDirectory) -> Outcome {
        let copy = directory.path(of: "copy.db")
        defer { for end in ["", "-wal", "-shm", "-journal"] { remove(copy + end) } }
        return Outcome.same(as: StoredRow.examples) {
            try DatabaseFile.create(path: copy) { target throws(SQLiteError) in
                try Connection(path: path).copy(to: target)
            }
            return try Starvation.sated { try StoredRow.all(Connection(path: copy)) }
        }
    }
}

private struct StoredRow: Equatable {
    var id: Int64
    var name: String?
    var bytes: [UInt8]?

    /// Short and long ones: what does not fit a page lies on others.
    static let examples = [
        StoredRow(id: 1, name: "first", bytes: [1]),
        StoredRow(id: 2, name: nil, bytes: []),
        StoredRow(id: 3, name: String(repeating: "é", count: 9000), bytes: nil),
        StoredRow(id: 4, name: "", bytes: (0..<20_000).map { UInt8(truncatingIfNeeded: $0) }),
    ]

    func insert(_ connection: Connection) throws(SQLiteError) {
        let statement = try connection.prepare("INSERT INTO rows VALUES (?1, ?2, ?3)")
        try statement.bind(1, id)
        try statement.bind(2, text: name)
        try statement.bind(3, blob: bytes)
        try statement.run()
    }

    static func all(_ connection: Connection) throws(SQLiteError) -> [StoredRow] {
        let statement = try connection.prepare(
            "SELECT id, name, bytes FROM rows ORDER BY coalesce(name, ''), id")
        var rows: [StoredRow] = []
        while try statement.step() {
            rows.append(
                StoredRow(
                    id: statement.integer(0), name: statement.text(1), bytes: statement.blob(2)))
        }
        return rows.sorted { $0.id < $1.id }
    }
}
