import CSQLite
import Glibc

/// The write-ahead log and its index, which lie beside the database by names of their own.
///
/// SQLite opens both by name and never looks again. If somebody removes them, connections that have
/// them open go on with files that nobody else can find, and whoever opens the database then makes
/// others: two histories of one file.
extension Connection {
    /// What lies where the log and its index were opened.
    public enum LogPlace: Sendable {
        /// What this connection has open, or it has no log.
        case same
        /// Not both of them any more.
        case gone
        /// Another file.
        case replaced
    }

    /// Device and inode of a file.
    struct FileNumber: Hashable {
        let device: UInt64
        let inode: UInt64

        init?(_ path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
        }
    }

    /// What lies where this connection has opened its log and the index of that.
    public var logPlace: LogPlace {
        guard let openLog else { return .same }
        let found = logFiles
        if zip(found, openLog).contains(where: { $0 != nil && $0 != $1 }) { return .replaced }
        return found == openLog ? .same : .gone
    }

    /// The log and its index, as they lie there now.
    var logFiles: [FileNumber?] { logPaths.map { FileNumber($0) } }

    /// From now on closing leaves the database and what lies beside it as they are. Otherwise the
    /// last connection takes the log into the file, and removes what has the log's name.
    public func leaveLogAlone() {
        _ = unsafe sallyport_leave_log(handle)
    }

    /// Waits until the log is there or nobody else has the database open; throws if that takes too
    /// long. To be called before anything is read, which makes the log.
    func awaitLog(milliseconds: Int32) throws(SQLiteError) {
        var rest = milliseconds
        while logFiles.contains(nil), isOpenElsewhere {
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

    /// Whether another connection, of this process or another, holds a lock on the file, as all do
    /// for as long as they have its log open. Only before anything was read.
    private var isOpenElsewhere: Bool {
        var found: UnsafeMutablePointer<sqlite3_file>?
        let status = unsafe sqlite3_file_control(
            handle, "main", SQLITE_FCNTL_FILE_POINTER, &found)
        guard status == SQLITE_OK, let file = unsafe found,
            let methods = unsafe file.pointee.pMethods,
            let lock = unsafe methods.pointee.xLock, let unlock = unsafe methods.pointee.xUnlock
        else { return false }
        defer { _ = unsafe unlock(file, SQLITE_LOCK_NONE) }
        // Someone who tries the same just now counts too: nobody waits for long.
        guard unsafe lock(file, SQLITE_LOCK_SHARED) == SQLITE_OK else { return true }
        return unsafe lock(file, SQLITE_LOCK_EXCLUSIVE) == SQLITE_BUSY
    }
}
