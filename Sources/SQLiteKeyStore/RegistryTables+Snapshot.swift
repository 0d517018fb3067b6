import SQLite

extension RegistryTables {
    /// Runs `body`, which reads `readCount` times. Several reads are of one moment, and take the
    /// shared lock once.
    func withOneSnapshot<Value>(for readCount: Int, _ body: () -> Value) -> Value {
        let isGrouped = readCount > 1 && (try? beginReading.run()) != nil
        // A failure may have ended the transaction.
        defer { if isGrouped, connection.isInTransaction { try? endReading.run() } }
        return body()
    }
}
