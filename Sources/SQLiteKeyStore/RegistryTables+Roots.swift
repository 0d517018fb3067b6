import SQLite

extension RegistryTables {
    /// Reads the first page of every table and index: damage there makes all of it unreadable.
    func readRoots() throws(SQLiteError) {
        for sql in [
            "SELECT 1 FROM apps WHERE id = 0 OR name = ''",
            "SELECT 1 FROM challenges WHERE challenge = x'' OR spent_at < 0",
            "SELECT 1 FROM receipts WHERE key_id = x'' OR rowid = 0",
            "SELECT 1 FROM renewals WHERE key_id = x''",
            "SELECT 1 FROM renewals WHERE app = 0 AND environment = 0 AND due_at = 0",
            "SELECT 1 FROM changes WHERE revision = 0",
            "SELECT 1 FROM embedded_state WHERE id = -1",
            "SELECT 1 FROM shared_state WHERE name = ''",
            "SELECT 1 FROM key_users WHERE key_id = x'' OR user = x'' OR last_seen < 0",
            "SELECT 1 FROM key_certificates WHERE serial = '' OR key_id = x''",
            "SELECT 1 FROM installations WHERE key_id = x'' OR installation = x''",
        ] { _ = try connection.integer(sql) }
    }

    /// Reads both ends of the key table.
    func readEdges() throws(SQLiteError) {
        _ = try connection.integer("SELECT 1 FROM keys ORDER BY key_id LIMIT 1")
        _ = try connection.integer("SELECT 1 FROM keys ORDER BY key_id DESC LIMIT 1")
    }
}
