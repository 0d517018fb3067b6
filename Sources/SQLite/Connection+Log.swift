import CSQLite
public import EventLoop
import Glibc

/// The write-ahead log and its index, which lie beside the database under their own names.
///
/// SQLite opens both by name and never looks again. If they are removed, connections that have them
/// open go on with files that no other process can find, and the next process that opens the
/// database makes others: two histories of one file.
extension Connection {
    /// The state of the files at the places where the log and its index were opened.
    public enum LogPlace: Sendable {
        /// The log's files are the ones that this connection has open, or there is no log.
        case same
        /// At least one of the files is missing.
        case gone
        /// At least one is another file.
        case replaced
        /// This log, but it is shorter than its index says: it was cut short.
        case cutShort
        /// The index is this one, but a part of it cannot be read or written: its file was cut
        /// short, or its file system has failed. The log has everything.
        case indexLost
    }

    /// The length of a log and its progress.
    public struct LogState: Hashable, Sendable {
        /// The length of the log by its index. The file may be longer, because SQLite uses it
        /// again.
        public let byteCount: Int
        /// True if all of it is in the database too, so that the next write begins at its start.
        public let isCheckpointed: Bool
    }

    /// A file at a path.
    struct FoundFile {
        let number: FileNumber
        let byteCount: Int

        init?(_ path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            number = FileNumber(status)
            byteCount = Int(status.st_size)
        }
    }

    /// The files at the places where this connection has opened its log and the index of that.
    public var logPlace: LogPlace {
        if isIndexLost { return .indexLost }
        guard let openLog else { return .same }
        // Read before the log's length, and again after it: SQLite also cuts the log back, but then
        // the index has another header first.
        let before = logIndex
        let files = logFiles
        let found = files.map { $0?.number }
        if zip(found, openLog).contains(where: { $0 != nil && $0 != $1 }) { return .replaced }
        guard found == openLog else { return .gone }
        guard let log = files[0], let index = files[1] else { return .same }
        if index.byteCount < indexByteCount { return .indexLost }
        guard let before, before.byteCount > log.byteCount, before == logIndex else { return .same }
        return .cutShort
    }

    /// Nil if the connection has no log, or if a process is writing to its index just now.
    public var logState: LogState? {
        guard !isIndexLost, let index = logIndex else { return nil }
        return LogState(byteCount: index.byteCount, isCheckpointed: index.isCheckpointed)
    }

    /// Takes the log into the database as far as readers allow it, and empties its file if all of
    /// it is there then. Waits for others for ``logEmptyingMilliseconds`` at most. False if
    /// something is left because a process reads from the log, or writes.
    public func emptyLog() throws(SQLiteError) -> Bool {
        let status = waitingForLocks(milliseconds: Self.logEmptyingMilliseconds) {
            unsafe sqlite3_wal_checkpoint_v2(
                handle, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        }
        if status != SQLITE_OK, status & 0xFF != SQLITE_BUSY {
            throw unsafe lastError(of: handle, status: status)
        }
        try believeIndex()
        return status == SQLITE_OK
    }

    /// Long enough to find a gap between readers that come and go; a reader that stays is not
    /// waited for.
    private static let logEmptyingMilliseconds: Int32 = 10

    /// The processes that read the database in a transaction just now, as far as the system tells.
    public func logReaders() -> [NamedProcess] {
        LockHolder.all(of: logPaths[1], in: Self.readerLocks)
    }

    /// The locks of readers in the file of the log's index ("WAL-mode File Format", section 2.3).
    private static let readerLocks = 123...127

    /// The log and its index as they are now.
    var logFiles: [FoundFile?] { logPaths.map { FoundFile($0) } }

    /// True if a part of the log's index could not be read or written: nothing that this connection
    /// reads can be believed, and nothing that it writes can be found. All connections of the
    /// process to the file have to be closed before it is opened again.
    public var isIndexLost: Bool {
        guard let file = unsafe file else { return false }
        return unsafe OwnFile.isIndexLost(file)
    }

    /// Throws if the index is lost. To be called after reading anything that depends on it.
    func believeIndex() throws(SQLiteError) {
        if isIndexLost { throw .lostIndex }
    }

    private var logIndex: LogIndex? {
        guard let start = unsafe OwnFile.behind(file)?.pointee.index else { return nil }
        return unsafe LogIndex(start)
    }

    private var indexByteCount: Int {
        unsafe OwnFile.behind(file)?.pointee.indexByteCount ?? 0
    }

    /// Makes closing leave the database and the files beside it as they are. Otherwise the last
    /// connection would take the log into the file, and remove the file with the log's name.
    public func leaveLogAlone() {
        _ = unsafe sallyport_leave_log(handle)
    }

    /// Waits until the log is there or no other process has the database open; throws if that takes
    /// too long. To be called before anything is read, because reading makes the log.
    func awaitLog(milliseconds: Int32) throws(SQLiteError) {
        var rest = milliseconds
        while logFiles.contains(where: { $0 == nil }), isOpenElsewhere {
            guard rest > 0 else {
                throw SQLiteError(
                    extendedCode: SQLITE_PROTOCOL,
                    message: "others have it open with a log (-wal, -shm) that is not here: it was"
                        + " removed, or they use another name of the file, and would never see"
                        + " what is written now: restart them")
            }
            Self.pause(milliseconds: Self.logPollMilliseconds)
            rest -= Self.logPollMilliseconds
        }
    }

    private static let logPollMilliseconds: Int32 = 5

    /// True if another connection, of this process or another, holds a lock on the file, as all do
    /// for as long as they have its log open. Only to be used before anything was read.
    private var isOpenElsewhere: Bool {
        guard let file = unsafe file, let methods = unsafe file.pointee.pMethods,
            let lock = unsafe methods.pointee.xLock, let unlock = unsafe methods.pointee.xUnlock
        else { return false }
        defer { _ = unsafe unlock(file, SQLITE_LOCK_NONE) }
        // A process that tries the same just now counts too, so that neither waits for long.
        guard unsafe lock(file, SQLITE_LOCK_SHARED) == SQLITE_OK else { return true }
        return unsafe lock(file, SQLITE_LOCK_EXCLUSIVE) == SQLITE_BUSY
    }
}
