public import AppAttest
import SQLite

extension SQLiteAdministration {
    /// Reads every page; throws if they do not fit together.
    public func checkWhole() throws(RegistryOpenError) {
        try RegistryFile.check(tables.connection)
    }

    /// Writes a copy of the registry as it is at one moment, while gateways write to it. The copy
    /// is read back before it gets its name; nothing existing is written over. Returns the number
    /// of its keys. `floors`: accepted counters that gateways have yet to tell the registry; the
    /// copy has them.
    public func backUp(
        to path: String, floors: [(keyID: KeyID, counter: UInt32)] = []
    ) throws(RegistryOpenError) -> Int {
        guard DatabaseFile.content(at: path) == .missing else {
            throw .other(path: path, reason: "exists already: name a new file for the backup")
        }
        var count = 0
        do throws(DatabaseFileError) {
            try DatabaseFile.create(path: path, mustBeNew: true) { draft throws(SQLiteError) in
                try tables.connection.copy(to: draft)
                try raise(floors, in: draft)
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
