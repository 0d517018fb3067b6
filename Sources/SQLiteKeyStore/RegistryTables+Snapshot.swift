import SQLite

extension RegistryTables {
    /// Runs `body`, which reads `readCount` times. Several reads are of one moment, and take the
    /// shared lock once.
    func withOneSnapshot<Value>(for readCount: Int, _ body: () -> Value) -> Value {
        let isGrouped = readCount > 1 && (try? connection.begin(.deferred)) != nil
        defer { if isGrouped { connection.rollback() } }
        return body()
    }
}
