import SQLite

/// The reason why a registry file cannot be used. Nothing was written to it.
public enum RegistryOpenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file does not exist, and must not be created.
    case missing(path: String)
    /// The directory of the file is missing or refuses new files.
    case directory(path: String, reason: String)
    /// The file is empty. A lost or truncated registry looks the same, so it is not filled.
    case empty(path: String)
    case notAFile(path: String)
    /// The file has another name (a hard link), by which another process may use it with another
    /// log.
    case linked(path: String)
    case unreadable(path: String, reason: String)
    case readOnly(path: String)
    /// The file is damaged, or not a database at all.
    case corrupt(path: String, reason: String)
    /// The file is a database of another program.
    case foreign(path: String)
    /// The file was written by a later version of Sallyport.
    case newerSchema(path: String, found: Int64, supported: Int64)
    /// There is a write-ahead log without its database.
    case strayLog(path: String)
    /// Another process holds the file locked.
    case busy(path: String)
    case other(path: String, reason: String)

    public var description: String {
        switch self {
        case .missing(let path): "registry \(path): no such file"
        case .directory(let path, let reason): "registry: cannot make a file in \(path): \(reason)"
        case .empty(let path):
            "registry \(path): the file is empty, its keys are lost: restore a backup,"
                + " or remove the file to begin a new registry"
        case .notAFile(let path): "registry \(path): not a regular file"
        case .linked(let path):
            "registry \(path): the file has another name (a hard link), and by each name it has"
                + " another log, so that what is written would be lost: find it by"
                + " `find / -xdev -samefile \(path)` and remove all names but one"
        case .unreadable(let path, let reason):
            "registry \(path): \(reason); the user that runs sallyport needs to read and write"
                + " the file and its directory"
        case .readOnly(let path):
            "registry \(path): cannot be written: the user that runs sallyport needs to write"
                + " the file and its directory"
        case .corrupt(let path, let reason):
            "registry \(path): damaged or not a registry: \(reason); restore a backup,"
                + " and remove \(path)-wal and \(path)-shm first"
        case .foreign(let path):
            "registry \(path): a database of another program; name another file"
        case .newerSchema(let path, let found, let supported):
            "registry \(path): written by a later version (schema \(found),"
                + " this version knows \(supported)); run that version"
        case .strayLog(let path):
            "registry: \(path) exists without its database: restore the database,"
                + " or remove the log to begin a new registry"
        case .busy(let path): "registry \(path): locked by another process"
        case .other(let path, let reason): "registry \(path): \(reason)"
        }
    }

    init(_ error: SQLiteError, path: String) {
        if error.isCorrupt {
            self = .corrupt(path: path, reason: error.description)
        } else if error.isReadOnly {
            self = .readOnly(path: path)
        } else if error.isBusy {
            self = .busy(path: path)
        } else if error.cannotOpen {
            self = .unreadable(path: path, reason: error.description)
        } else {
            self = .other(path: path, reason: error.description)
        }
    }

    init(_ error: DatabaseFileError, path: String) {
        self =
            switch error {
            case .directory(let directory, let reason):
                .directory(path: directory, reason: reason)
            case .strayLog(let log): .strayLog(path: log)
            case .system(let reason): .other(path: path, reason: reason)
            case .database(let error): RegistryOpenError(error, path: path)
            }
    }
}
