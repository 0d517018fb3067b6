import EventLoop
import KeyStore
import SQLite

/// One thread's connection to the file: opened when something is first asked, and again after a
/// failure that the connection may not survive, so that service resumes when the file works again.
final class RegistryAccess {
    private let path: String
    private let options: Connection.Options
    private var current: RegistryTables?
    /// The preparation of each connection before it is used.
    private let begin: (RegistryTables, Place) throws(SQLiteError) -> Void
    private var place = Place.same
    /// The file that was opened last.
    private var inode: [UInt64]?

    /// What the path leads to when a connection is made.
    enum Place {
        /// The file of the connection before, or the first one.
        case same
        /// That file too, as it seems: it was away in between.
        case returned
        /// Another file.
        case replaced
    }

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

    /// The tables, opened where they are not.
    func tables() -> Result<RegistryTables, StoreError> {
        if let current, current.connection.fileHasMoved {
            self.current = nil
            place = .returned
        }
        if let current { return .success(current) }
        do throws(RegistryOpenError) {
            // Never made again: an empty registry would turn every known key into an unknown one.
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

    /// The tables, if they are open and the path still leads to their file.
    var openTables: RegistryTables? {
        guard let current, !current.connection.fileHasMoved else { return nil }
        return current
    }

    /// Opens again next time, where the error is one of the file and not of what was asked.
    func note(_ error: SQLiteError) { if error.callsForReopening { current = nil } }

    func close() { current = nil }
}
