import SQLite

/// Opens a registry file after cheap checks: that it is a registry, complete as far as can be seen
/// without reading all of it, writable, and of a version that this program knows.
enum RegistryFile {
    static func open(
        path: String, createsIfMissing: Bool, options: Connection.Options
    ) throws(RegistryOpenError) -> RegistryTables {
        if DatabaseFile.content(at: path) == .missing {
            try create(path: path, isAllowed: createsIfMissing)
        }
        let (connection, found) = try look(path: path, options: options)
        if connection.isReadOnly { throw .readOnly(path: path) }
        if DatabaseFile.endsInsidePage(at: path, pageByteCount: found.pageByteCount) {
            throw .corrupt(path: path, reason: "the file ends inside a page")
        }
        let version: Int64
        do throws(SQLiteError) {
            version = try RegistrySchema.update(connection, from: found.version)
        } catch {
            throw refusal(error, path)
        }
        guard version <= RegistrySchema.version else { throw newer(path: path, found: version) }
        do throws(SQLiteError) {
            return try prepare(connection)
        } catch {
            throw refusal(error, path)
        }
    }

    private static func refusal(_ error: SQLiteError, _ path: String) -> RegistryOpenError {
        // A statement that does not compile means that a table or a column is missing.
        if error.code == 1 { return .corrupt(path: path, reason: error.message) }
        return RegistryOpenError(error, path: path)
    }

    /// A connection to a registry of a version that this program knows or could bring up to date.
    /// The registry is left as it is.
    static func look(
        path: String, options: Connection.Options
    ) throws(RegistryOpenError) -> (connection: Connection, found: Marks) {
        switch DatabaseFile.content(at: path) {
        case .file: break
        case .missing: throw .missing(path: path)
        case .empty: throw .empty(path: path)
        case .notAFile: throw .notAFile(path: path)
        case .unreadable(let reason): throw .unreadable(path: path, reason: reason)
        }
        try refuseSecondName(path)
        let connection: Connection
        let found: Marks
        do throws(SQLiteError) {
            var options = options
            options.expectsLog = true
            connection = try Connection(path: path, options: options)
            found = try marks(of: connection)
        } catch {
            throw RegistryOpenError(error, path: path)
        }
        guard found.applicationID == RegistrySchema.applicationID else {
            throw .foreign(path: path)
        }
        guard found.version <= RegistrySchema.version else {
            throw newer(path: path, found: found.version)
        }
        guard found.version >= 0 else {
            throw .corrupt(path: path, reason: "its tables have version \(found.version)")
        }
        return (connection, found)
    }

    /// Refuses a file with several names, because SQLite looks for another log beside each of them,
    /// and the gateway for another lock.
    private static func refuseSecondName(_ path: String) throws(RegistryOpenError) {
        var attemptCount = 0
        while DatabaseFile.nameCount(at: path) > 1 {
            // A file that is being made has two names for a moment.
            guard attemptCount < 20 else { throw .linked(path: path) }
            attemptCount += 1
            Connection.pause(milliseconds: 5)
        }
    }

    private static func newer(path: String, found: Int64) -> RegistryOpenError {
        .newerSchema(path: path, found: found, supported: RegistrySchema.version)
    }

    /// Checks every page, unless the file is longer than `byteCountMax`.
    static func check(
        _ connection: Connection, byteCountMax: Int = .max
    ) throws(RegistryOpenError) {
        let words: String?
        do throws(SQLiteError) {
            words = try connection.byteCount() <= byteCountMax ? connection.damage() : nil
        } catch {
            throw RegistryOpenError(error, path: connection.path)
        }
        if let words { throw .corrupt(path: connection.path, reason: words) }
    }

    private static func create(path: String, isAllowed: Bool) throws(RegistryOpenError) {
        guard isAllowed else { throw .missing(path: path) }
        do throws(DatabaseFileError) {
            try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
                try connection.transaction(.immediate) { () throws(SQLiteError) in
                    try RegistrySchema.migrate(connection, from: 0)
                }
            }
        } catch {
            throw RegistryOpenError(error, path: path)
        }
    }

    struct Marks {
        var applicationID: Int64
        var version: Int64
        var pageByteCount: Int
    }

    private static func marks(of connection: Connection) throws(SQLiteError) -> Marks {
        // Reads the first page and the schema, which reveals garbage and a truncated file.
        _ = try connection.integer("SELECT count(*) FROM sqlite_schema")
        return Marks(
            applicationID: try connection.integer("PRAGMA application_id") ?? 0,
            version: try connection.integer("PRAGMA user_version") ?? 0,
            pageByteCount: Int(try connection.integer("PRAGMA page_size") ?? 4096))
    }

    private static func prepare(_ connection: Connection) throws(SQLiteError) -> RegistryTables {
        guard try connection.enableWriteAheadLog() else {
            throw SQLiteError(
                extendedCode: 10, message: "its file system does not allow a write-ahead log")
        }
        // A log that a bulk import has made large is cut back when it is used again.
        try connection.execute("PRAGMA journal_size_limit = \(64 << 20)")
        let tables = try RegistryTables(connection)
        try tables.readRoots()
        try tables.readEdges()
        return tables
    }
}
