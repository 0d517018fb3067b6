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
    /// Writers go on meanwhile. `onProgress` hears now and then how many pages of how many are
    /// done.
    public func copy(
        to target: Connection, onProgress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(SQLiteError) {
        // The moment is that of this transaction: between two steps without one, each write of
        // another process would make the copy begin again.
        try begin(.deferred)
        defer { rollback() }
        _ = try integer("SELECT count(*) FROM sqlite_schema")
        try copyPages(to: target, onProgress)
    }

    /// 4 MiB: often enough to be seen.
    private static let copiedPageCount: Int32 = 1024

    private func copyPages(
        to target: Connection, _ onProgress: (_ done: Int, _ total: Int) -> Void
    ) throws(SQLiteError) {
        guard let backup = unsafe sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw unsafe lastError(
                of: target.handle, status: sqlite3_extended_errcode(target.handle))
        }
        var status = SQLITE_OK
        while status == SQLITE_OK {
            status = unsafe sqlite3_backup_step(backup, Self.copiedPageCount)
            let total = Int(unsafe sqlite3_backup_pagecount(backup))
            onProgress(total - Int(unsafe sqlite3_backup_remaining(backup)), total)
        }
        let ending = unsafe sqlite3_backup_finish(backup)
        guard status == SQLITE_DONE else {
            throw unsafe lastError(of: target.handle, status: ending == SQLITE_OK ? status : ending)
        }
    }
}
