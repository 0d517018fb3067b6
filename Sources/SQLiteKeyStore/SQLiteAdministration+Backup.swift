public import Attestation
import EventLoop
public import KeyStore
import SQLite

extension SQLiteAdministration {
    /// Reads every page, and throws if they do not fit together. Changes nothing: the tables of an
    /// earlier version stay as they are.
    ///
    /// - Returns: the version of the tables, and this program's.
    public static func checkWhole(
        path: String
    ) throws(RegistryOpenError) -> (found: Int64, current: Int64) {
        let (connection, found) = try RegistryFile.look(path: path, options: Connection.Options())
        try RegistryFile.check(connection)
        return (found.version, RegistrySchema.version)
    }

    /// True if the file has several names, beside each of which it would have another log.
    public static func hasOtherName(path: String) -> Bool { DatabaseFile.nameCount(at: path) > 1 }

    /// Writes a copy of the registry as it is at one moment, while gateways write to it. The copy
    /// is read back before it gets its name, and no existing file is overwritten. Returns the
    /// number of its keys. `floors`: accepted counters that gateways have yet to tell the registry;
    /// the copy has them. `onProgress` is called now and then with the number of copied pages and
    /// the number of all.
    public func backUp(
        to path: String, floors: [(keyID: KeyID, counter: UInt32)] = [],
        onProgress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(RegistryOpenError) -> Int {
        guard DatabaseFile.content(at: path) == .missing else {
            throw .other(path: path, reason: "exists already: name a new file for the backup")
        }
        var count = 0
        do throws(DatabaseFileError) {
            try DatabaseFile.create(path: path, mustBeNew: true) { draft throws(SQLiteError) in
                try tables.connection.copy(to: draft, onProgress: onProgress)
                try raise(floors, in: draft)
                try mark(draft)
                if let words = try draft.damage() {
                    throw SQLiteError(extendedCode: 11, message: "the copy is damaged: \(words)")
                }
                count = Int(try draft.integer("SELECT count(*) FROM keys") ?? 0)
            }
        } catch {
            throw RegistryOpenError(error, path: path)
        }
        return count
    }

    /// Notes in a copy when it was made, for ``noteRestore()``.
    private func mark(_ copy: Connection) throws(SQLiteError) {
        let statement = try copy.prepare(
            """
            INSERT OR REPLACE INTO shared_state (name, value, version, term) VALUES (?, ?, 1, 1)
            """)
        try statement.bind(1, text: RegistryTables.backupMark)
        try statement.bind(
            2, blob: Array(WallClock.timestamp(seconds: WallClock.now().seconds).utf8))
        try statement.run()
    }

    /// Notes in the audit log that this file is a copy made by ``backUp(to:floors:onProgress:)``,
    /// the first time that a gateway starts with it.
    public func noteRestore() throws(StoreError) {
        try attempt { () throws(SQLiteError) in
            guard try tables.shared(RegistryTables.backupMark).entry != nil else { return }
            try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                // Another gateway may have been first.
                guard let entry = try tables.shared(RegistryTables.backupMark).entry else { return }
                let statement = try tables.connection.prepare(
                    "DELETE FROM shared_state WHERE name = ?")
                try statement.bind(1, text: RegistryTables.backupMark)
                try statement.run()
                let time = String(decoding: entry.value, as: UTF8.self)
                try auditTable.append(
                    [AuditNote(.restore, "", outcome: "done", detail: "the copy of \(time)")],
                    by: author)
            }
        }
    }

    private func raise(
        _ floors: [(keyID: KeyID, counter: UInt32)], in copy: Connection
    ) throws(SQLiteError) {
        guard !floors.isEmpty else { return }
        let tables = try RegistryTables(copy)
        try copy.transaction(.immediate) { () throws(SQLiteError) in
            for floor in floors { _ = try tables.raiseFloor(floor.keyID, to: floor.counter) }
        }
    }
}
