/// Reading what is at hand, for threads that must not wait for a disk or for a lock.
extension Connection {
    /// Whether ``readWithoutWaiting(_:)`` may read anything at all.
    public var canReadWithoutWaiting: Bool {
        HurriedThread.fileSystem != nil && !isWaitingUnavoidable
    }

    /// Runs `body`, in which this connection reads what lies in memory, in SQLite's page cache or
    /// in the system's. Nil if it would have had to wait for the disk or for another connection, or
    /// if the file system does not tell. Then nothing has happened, except that an open transaction
    /// may be over.
    ///
    /// For a page that is not there the system orders it from the disk, and on a disk with a full
    /// queue even that takes time: whoever is told nil should not try again soon.
    ///
    /// `body` only reads: writing waits as always.
    public func readWithoutWaiting<Value>(
        _ body: () throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value? {
        guard canReadWithoutWaiting else { return nil }
        var hurry = Hurry()
        let outcome: Result<Value, SQLiteError>? = unsafe withUnsafeMutablePointer(to: &hurry) {
            guard unsafe HurriedThread.set($0) else { return nil }
            defer { _ = unsafe HurriedThread.set(nil) }
            do throws(SQLiteError) { return .success(try body()) } catch { return .failure(error) }
        }
        if hurry.isUnsupported { isWaitingUnavoidable = true }
        return hurry.isCutShort ? nil : try outcome?.get()
    }
}
