import CSQLite
import Glibc

/// The reason why a database file could not be made.
public enum DatabaseFileError: Error, Hashable, Sendable {
    /// The directory does not exist, is not one, or refuses new files.
    case directory(path: String, reason: String)
    /// There is a log of a database that is gone: a new file beside it would be filled from it.
    case strayLog(path: String)
    case system(String)
    case database(SQLiteError)
}

/// The file itself: examines the file at a path, and makes a new one completely or not at all.
public enum DatabaseFile {
    public enum Content: Hashable, Sendable {
        case missing
        case empty
        case file
        case notAFile
        /// The file could not be examined.
        case unreadable(reason: String)
    }

    public static func content(at path: String) -> Content {
        var status = stat()
        guard unsafe stat(Connection.plainPath(path), &status) == 0 else {
            let code = errno
            return code == ENOENT ? .missing : .unreadable(reason: systemMessage(code))
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return .notAFile }
        // SQLite takes a file of one byte for an empty one.
        return status.st_size <= 1 ? .empty : .file
    }

    /// The number of names that the file has; 0 if there is none. For a directory each directory in
    /// it counts.
    public static func nameCount(at path: String) -> Int {
        var status = stat()
        guard unsafe stat(Connection.plainPath(path), &status) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return 0 }
        return Int(status.st_nlink)
    }

    /// True if the file ends inside a page: its end was lost, and SQLite would read zeroes there.
    /// False if a log waits beside it, from which the page may be completed.
    ///
    /// Only examines the length, because opening the file and closing it again would release every
    /// lock that this process holds on it (fcntl(2)), even for its other connections.
    public static func endsInsidePage(at path: String, pageByteCount: Int) -> Bool {
        let path = Connection.plainPath(path)
        var status = stat()
        if unsafe stat(path + "-wal", &status) == 0, status.st_size > 0 { return false }
        guard unsafe stat(path, &status) == 0 else { return false }
        return Int(status.st_size) % max(1, pageByteCount) != 0
    }

    /// Makes a database and lets `build` fill it, unless the path is taken by then.
    ///
    /// It is built under another name and appears at `path` complete: a crash leaves no half-made
    /// database, no existing file is overwritten, and of two processes one wins. Only the owner may
    /// read it. `mustBeNew`: losing to another process is a failure.
    public static func create(
        path: String, mustBeNew: Bool = false, build: (Connection) throws(SQLiteError) -> Void
    ) throws(DatabaseFileError) {
        let path = Connection.plainPath(path)
        let directory = parent(of: path)
        var status = stat()
        guard unsafe stat(directory, &status) == 0 else {
            throw .directory(path: directory, reason: systemMessage(errno))
        }
        if content(at: path + "-wal") == .file { throw .strayLog(path: path + "-wal") }
        let draft = "\(path).new-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        let descriptor = unsafe open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .directory(path: directory, reason: systemMessage(errno))
        }
        close(descriptor)
        defer { for suffix in ["", "-journal", "-wal", "-shm"] { unsafe unlink(draft + suffix) } }
        try fill(draft, build)
        // A link instead of a rename, because it fails if another process was first.
        if unsafe link(draft, path) != 0 {
            let code = errno
            guard code == EEXIST, !mustBeNew else {
                throw .system("\(path): \(systemMessage(code))")
            }
        }
        synchronise(directory)
    }

    private static func fill(
        _ path: String, _ build: (Connection) throws(SQLiteError) -> Void
    ) throws(DatabaseFileError) {
        do throws(SQLiteError) {
            try build(try Connection(path: path))
        } catch {
            throw .database(error)
        }
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: 0x2F) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Makes the new name in the directory survive a power failure.
    private static func synchronise(_ directory: String) {
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}

func systemMessage(_ code: Int32) -> String {
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
}
