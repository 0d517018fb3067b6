import EventLoop
import KeyStore
import SQLite

/// One thread's connection to the file. It is opened at the first request, and again after a
/// failure that it may not survive, so that service resumes when the file works again.
final class RegistryAccess {
    private let path: String
    private let options: Connection.Options
    private var current: RegistryTables?
    /// The preparation of each connection before it is used.
    private let begin: (RegistryTables, Place) throws(SQLiteError) -> Void
    private var place = Place.same
    /// The file that was opened last.
    private var inode: [UInt64]?

    /// The file that the path leads to when a connection is made.
    enum Place {
        /// The file of the previous connection, or the first one.
        case same
        /// This seems to be that file, but it was away in between.
        case returned
        /// Another file, or another log beside it.
        case replaced
    }

    /// Not nil if what was in the log may be lost, or lies in two logs that cannot be put together.
    /// It says why nothing is opened any more.
    private(set) var tear: StoreError?

    init(
        path: String, options: Connection.Options,
        begin: @escaping (RegistryTables, Place) throws(SQLiteError) -> Void = {
            (_, _) throws(SQLiteError) in
        }
    ) {
        self.path = path
        self.options = options
        self.begin = begin
    }

    /// The tables, which are opened if they are not open.
    func tables() -> Result<RegistryTables, StoreError> {
        leaveIfMoved()
        if let tear { return .failure(tear) }
        if let current { return .success(current) }
        do throws(RegistryOpenError) {
            // Never created again: an empty registry would turn every known key into an unknown
            // one.
            let opened = try RegistryFile.open(
                path: path, createsIfMissing: false, options: options)
            let found = File.inode(path)
            if inode != nil, found != inode { place = .replaced }
            do throws(SQLiteError) {
                try begin(opened, place)
            } catch {
                throw RegistryOpenError(error, path: path)
            }
            place = .same
            inode = found
            current = opened
            return .success(opened)
        } catch {
            return .failure(StoreError(error))
        }
    }

    /// Closes a connection to a file that is not at the path any more.
    ///
    /// If the log is gone, the last connection takes it into the file as it is closed. Until then
    /// no connection opens the file again (``Connection/Options/expectsLog``), so that all go on
    /// with what was in the log.
    func leaveIfMoved() {
        guard let connection = current?.connection else { return }
        if connection.fileHasMoved {
            place = .returned
        } else {
            switch connection.logPlace {
            case .same: return
            case .gone: place = .replaced
            case .replaced:
                // If it were taken into the file now, the old log would be mixed with the other
                // one.
                connection.leaveLogAlone()
                tear = Self.twoLogs
            case .cutShort:
                // The rest that could still be read would be a part of what belongs together.
                connection.leaveLogAlone()
                tear = Self.cutLog
            case .indexLost:
                // The log has everything, and the next index is made from it.
                connection.leaveLogAlone()
            }
        }
        current = nil
    }

    private static let twoLogs = StoreError(
        "registry: its log (-wal, -shm) was removed and made anew; what was written"
            + " meanwhile may be lost: restart the gateway, run doctor")
    private static let cutLog = StoreError(
        "registry: its log (-wal) was cut short; what was written last may be lost:"
            + " restart the gateway, run doctor")

    /// The tables, if they are open and the path still leads to their file.
    var openTables: RegistryTables? {
        guard let current, !current.connection.fileHasMoved else { return nil }
        return current
    }

    /// Has the file opened again next time, if the error is the file's and not the request's.
    func note(_ error: SQLiteError) { if error.callsForReopening { close() } }

    func close() {
        leaveIfMoved()
        current = nil
    }
}
