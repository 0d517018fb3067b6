import CSQLite

extension Connection {
    /// Reads every page and checks that they fit together (`PRAGMA quick_check`; it does not check
    /// that indexes agree with their tables). Returns SQLite's first words about the damage, or nil
    /// if there is none.
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
    /// Writers go on meanwhile. `onProgress` is called now and then with the number of pages done
    /// and the number of all.
    public func copy(
        to target: Connection, onProgress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(SQLiteError) {
        // This transaction fixes the moment: without one, each write of another process between two
        // steps would make the copy begin again.
        try begin(.deferred)
        defer { rollback() }
        _ = try integer("SELECT count(*) FROM sqlite_schema")
        try copyPages(to: target, onProgress)
    }

    /// The pages of one step, 4 MiB: few enough for a visible progress.
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
