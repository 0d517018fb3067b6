/// Reads records in memory, for threads that must not wait for a disk or for a lock.
extension Connection {
    /// True if ``readWithoutWaiting(_:)`` may read anything at all.
    public var canReadWithoutWaiting: Bool {
        OwnFileSystem.canReadWithoutWaiting && !isWaitingUnavoidable
    }

    /// Runs `body`, in which this connection reads what is in memory, in SQLite's page cache or in
    /// the system's. Nil if it would have had to wait for the disk or for another connection, or if
    /// the file system cannot tell. Then nothing has happened, except that an open transaction may
    /// be over.
    ///
    /// The system orders a page that is not there from the disk. On a disk with a full queue even
    /// that takes time, so a caller that is told nil should not try again soon.
    ///
    /// `body` must only read: writing waits as always.
    public func readWithoutWaiting<Value>(
        _ body: () throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value? {
        guard canReadWithoutWaiting, IndexGrowth.enter() else { return nil }
        defer { IndexGrowth.leave() }
        var hurry = Hurry(isUrgent: true)
        let outcome: Result<Value, SQLiteError>? = HurriedThread.mark(&hurry) {
            do throws(SQLiteError) { return .success(try body()) } catch { return .failure(error) }
        }
        if hurry.isUnsupported { isWaitingUnavoidable = true }
        return hurry.isCutShort ? nil : try outcome?.get()
    }

    /// Runs `body`, in which this connection reads, and may wait for the disk. It leaves the index
    /// of the log as it is for as long as it can do without a mark of its own, so that reading goes
    /// on while the file system accepts no change.
    public func readSparingly<Value, Failure: Error>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var hurry = Hurry(isUrgent: false)
        let outcome: Result<Value, Failure>? = HurriedThread.mark(&hurry) {
            do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
        }
        guard let outcome else { return try body() }
        return try outcome.get()
    }
}
