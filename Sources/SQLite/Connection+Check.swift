import CSQLite

extension Connection {
    /// Reads every page and checks that they fit together (`PRAGMA quick_check`; not that indexes
    /// agree with their tables). Returns SQLite's first words about what is damaged, nil if nothing
    /// is.
    public func damage() throws(SQLiteError) -> String? {
        do throws(SQLiteError) {
            let words = try text("PRAGMA quick_check(1)") ?? ""
            return words == "ok" ? nil : words
        } catch {
            guard error.isCorrupt else { throw error }
            return error.description
        }
    }

    public func byteCount() throws(SQLiteError) -> Int {
        let pageCount = try integer("PRAGMA page_count") ?? 0
        return Int(pageCount * (try integer("PRAGMA page_size") ?? 0))
    }

    /// Copies the whole database, as it is at one moment, into `target`, whose content is lost.
    /// Writers go on meanwhile.
    public func copy(to target: Connection) throws(SQLiteError) {
        guard let backup = unsafe sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw unsafe lastError(
                of: target.handle, status: sqlite3_extended_errcode(target.handle))
        }
        // All pages in one step: in several, each write of another process would restart it.
        let status = unsafe sqlite3_backup_step(backup, -1)
        let ending = unsafe sqlite3_backup_finish(backup)
        guard status == SQLITE_DONE else {
            throw unsafe lastError(of: target.handle, status: ending == SQLITE_OK ? status : ending)
        }
    }
}
