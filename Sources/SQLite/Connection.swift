import CSQLite

/// One connection to a database file, used by one thread at a time.
@safe
public final class Connection {
    /// The options of opening a file. None of them creates one: see
    /// ``DatabaseFile/create(path:mustBeNew:build:)``.
    public struct Options: Sendable {
        public var isReadOnly = false
        /// The longest wait for another connection's lock, in milliseconds.
        public var busyMillisecondsMax: Int32 = 5_000
        /// The bytes of the page cache. It keeps memory from growing with the database.
        public var cacheByteCount = 8 * 1024 * 1024
        /// The size up to which the file may grow; nil for no limit but the disk's.
        public var byteCountMax: Int?
        /// True if the database has a write-ahead log, which must then be there if other
        /// connections have the database open. The connection waits for it up to a second, and no
        /// longer than for a lock.
        public var expectsLog = false

        public init() {}
    }

    /// The way in which a transaction begins.
    public enum TransactionKind: Sendable {
        /// Reads now; the first write may find the database locked.
        case deferred
        /// Takes the write lock first, so that others cannot change what was read.
        case immediate
    }

    let handle: OpaquePointer
    public let path: String
    private let busyMillisecondsMax: Int32
    /// True once the file system has said that it cannot tell what is in memory.
    var isWaitingUnavoidable = false
    /// The paths of the log and of its index, by the name that SQLite has made of the path: links
    /// were followed.
    private(set) lazy var logPaths: [String] = {
        guard let name = unsafe sqlite3_db_filename(handle, "main") else { return [] }
        let path = unsafe String(cString: name)
        return [path + "-wal", path + "-shm"]
    }()
    /// The log and its index, once they are open.
    private(set) var openLog: [FileNumber?]?
    /// SQLite's file of the database, which lives as long as the connection.
    private(set) lazy var file: UnsafeMutablePointer<sqlite3_file>? = {
        var found: UnsafeMutablePointer<sqlite3_file>?
        let status = unsafe sqlite3_file_control(
            handle, "main", SQLITE_FCNTL_FILE_POINTER, &found)
        return unsafe status == SQLITE_OK ? found : nil
    }()

    /// Opens an existing file. Many faults of the file show only at the first read.
    public init(path: String, options: Options = Options()) throws(SQLiteError) {
        // SQLite's calls are replaced before anything is read: here, with the first connection.
        let files = OwnFileSystem.name
        var opened: OpaquePointer?
        let access = options.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let status = unsafe sqlite3_open_v2(Self.plainPath(path), &opened, flags, files)
        guard let handle = unsafe opened else {
            throw SQLiteError(extendedCode: SQLITE_NOMEM, message: "out of memory")
        }
        guard status == SQLITE_OK else {
            let error = unsafe lastError(of: handle, status: status)
            unsafe sqlite3_close_v2(handle)
            throw error
        }
        unsafe self.handle = handle
        self.path = path
        busyMillisecondsMax = options.busyMillisecondsMax
        waitForLocks(milliseconds: busyMillisecondsMax)
        if options.expectsLog {
            try awaitLog(milliseconds: min(1000, options.busyMillisecondsMax))
        }
        try configure(options)
    }

    // Statements keep their connection alive, so nothing is left open here.
    deinit { unsafe sqlite3_close_v2(handle) }

    private func waitForLocks(milliseconds: Int32) {
        // The milliseconds are passed in the pointer, so the handler needs no object that could be
        // released.
        let limit = unsafe UnsafeMutableRawPointer(bitPattern: UInt(max(1, milliseconds)))
        unsafe sqlite3_busy_handler(handle, waitForLock, limit)
    }

    /// Runs `body`, in which locks of other connections are waited for no longer than this.
    func waitingForLocks<Value>(milliseconds: Int32, _ body: () -> Value) -> Value {
        waitForLocks(milliseconds: milliseconds)
        defer { waitForLocks(milliseconds: busyMillisecondsMax) }
        return body()
    }

    /// A path that SQLite cannot take for a URI (`file:`) or for a name of its own (`:memory:`).
    static func plainPath(_ path: String) -> String { path.hasPrefix("/") ? path : "./" + path }

    private func configure(_ options: Options) throws(SQLiteError) {
        try execute("PRAGMA foreign_keys = OFF")
        try execute("PRAGMA trusted_schema = OFF")
        try execute("PRAGMA cell_size_check = ON")
        try execute("PRAGMA secure_delete = ON")
        try execute("PRAGMA temp_store = MEMORY")
        try execute("PRAGMA mmap_size = 0")
        try execute("PRAGMA cache_size = -\(max(64, options.cacheByteCount / 1024))")
        // An acknowledged write survives a power failure.
        try execute("PRAGMA synchronous = FULL")
        if let byteCountMax = options.byteCountMax {
            let pageByteCount = try integer("PRAGMA page_size") ?? 4096
            let pageCount = max(1, Int64(byteCountMax) / max(1, pageByteCount))
            try execute("PRAGMA max_page_count = \(pageCount)")
        }
    }

    /// True if the file could only be opened for reading.
    public var isReadOnly: Bool { unsafe sqlite3_db_readonly(handle, "main") == 1 }

    /// The number of rows that the last statement changed.
    public var changeCount: Int { Int(unsafe sqlite3_changes64(handle)) }

    public var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// True if the path no longer leads to the open file, because it was removed or replaced.
    public var fileHasMoved: Bool {
        var moved: Int32 = 0
        let status = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return status == SQLITE_OK && moved != 0
    }

    /// Runs statements that return nothing of interest.
    public func execute(_ sql: String) throws(SQLiteError) {
        let status = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        guard status == SQLITE_OK else { throw unsafe lastError(of: handle, status: status) }
        try believeIndex()
    }

    public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try Statement(self, sql)
    }

    /// The first column of the first row; nil without a row.
    public func integer(_ sql: String) throws(SQLiteError) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    /// The first column of the first row; nil without a row.
    public func text(_ sql: String) throws(SQLiteError) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    public func begin(_ kind: TransactionKind) throws(SQLiteError) {
        try execute(kind == .immediate ? "BEGIN IMMEDIATE" : "BEGIN")
    }

    /// Commits the transaction. After a failure the caller still has to roll it back. If the index
    /// of the log was lost meanwhile, it cannot be known whether it was committed.
    public func commit() throws(SQLiteError) { try execute("COMMIT") }

    /// Undoes the open transaction, if any. A failure leaves nothing to undo.
    public func rollback() {
        guard isInTransaction else { return }
        _ = unsafe sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
    }

    /// Runs `body` in a transaction, which is committed, or undone if anything fails.
    public func transaction<Value>(
        _ kind: TransactionKind, _ body: () throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value {
        try begin(kind)
        do throws(SQLiteError) {
            let value = try body()
            try commit()
            return value
        } catch {
            rollback()
            throw error
        }
    }

    /// Switches to write-ahead logging. False if the file system does not allow it.
    public func enableWriteAheadLog() throws(SQLiteError) -> Bool {
        guard try text("PRAGMA journal_mode = WAL") == "wal" else { return false }
        // The first read opens the log, and no connection removes it while this one is there.
        _ = try integer("SELECT count(*) FROM sqlite_schema")
        openLog = logFiles.map { $0?.number }
        return true
    }

    /// Blocks the calling thread: between batches, so that other processes get the lock.
    public static func pause(milliseconds: Int32) { sqlite3_sleep(milliseconds) }
}

private let lockPollMilliseconds: Int32 = 2

/// Polls at a steady short interval: SQLite's own handler backs off to 100 ms and then misses the
/// gaps that a bulk import leaves.
private func waitForLock(_ limit: UnsafeMutableRawPointer?, _ attemptCount: Int32) -> Int32 {
    if let hurry = unsafe HurriedThread.current, unsafe hurry.pointee.isUrgent {
        unsafe hurry.pointee.isCutShort = true
        return 0
    }
    let milliseconds = Int64(Int(bitPattern: limit))
    guard Int64(attemptCount) * Int64(lockPollMilliseconds) < milliseconds else { return 0 }
    sqlite3_sleep(lockPollMilliseconds)
    return 1
}

/// The connection's last failure as a value.
func lastError(of handle: OpaquePointer, status: Int32) -> SQLiteError {
    let hasSystemError = [SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_FULL].contains(status & 0xFF)
    let message = unsafe String(cString: sqlite3_errmsg(handle))
    return SQLiteError(
        extendedCode: status,
        systemError: hasSystemError ? unsafe sqlite3_system_errno(handle) : 0,
        message: message)
}
