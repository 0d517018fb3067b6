import CSQLite
import Glibc

/// Reading only what is at hand, for threads that must not wait for a disk.
///
/// SQLite reads with `pread64`, for which its VFS takes another function ("xSetSystemCall" of its
/// documentation). That one asks the kernel for `RWF_NOWAIT` (preadv2(2)) while the calling thread
/// says so, and for all other threads it is `pread`.
extension Connection {
    /// Runs `body`, in which this connection reads what the page cache holds, SQLite's or the
    /// system's. Nil where it would have had to wait for the disk or for a lock, or where the file
    /// system does not tell. Then nothing has happened, except that an open transaction is over.
    ///
    /// `body` reads only: writing waits as always.
    public func readWithoutWaiting<Value>(
        _ body: () throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value? {
        guard canReadWithoutWaiting, HurriedThread.isPossible else { return nil }
        var hurry = Hurry()
        let outcome = unsafe withUnsafeMutablePointer(to: &hurry) { hurry in
            unsafe HurriedThread.set(hurry)
            defer { unsafe HurriedThread.set(nil) }
            return result(of: body)
        }
        if hurry.isUnsupported { canReadWithoutWaiting = false }
        switch outcome {
        case .success(let value): return value
        case .failure(let error):
            if hurry.isCutShort { return nil }
            throw error
        }
    }

    private func result<Value>(
        of body: () throws(SQLiteError) -> Value
    ) -> Result<Value, SQLiteError> {
        do throws(SQLiteError) { return .success(try body()) } catch { return .failure(error) }
    }
}

/// How the reads of a thread in a hurry have fared.
struct Hurry {
    /// Whether one failed because it would have had to wait.
    var isCutShort = false
    /// Whether that is because the file system knows no reading without waiting.
    var isUnsupported = false
}

/// What the calling thread has in ``Connection/readWithoutWaiting(_:)``.
enum HurriedThread {
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Whether SQLite reads by way of this file. Asked for before the first connection is opened.
    static let isPossible: Bool = {
        guard key != nil, let files = unsafe sqlite3_vfs_find(nil) else { return false }
        guard let get = unsafe files.pointee.xGetSystemCall,
            let set = unsafe files.pointee.xSetSystemCall
        else { return false }
        // Only a build that reads with this call has it in its table.
        guard unsafe get(files, "pread64") != nil else { return false }
        let call = unsafe unsafeBitCast(readAt, to: sqlite3_syscall_ptr.self)
        return unsafe set(files, "pread64", call) == SQLITE_OK
    }()

    static func set(_ hurry: UnsafeMutablePointer<Hurry>?) {
        guard let key else { return }
        unsafe pthread_setspecific(key, hurry)
    }

    static var current: UnsafeMutablePointer<Hurry>? {
        guard let key else { return nil }
        return unsafe pthread_getspecific(key)?.assumingMemoryBound(to: Hurry.self)
    }
}

private let readAt: @convention(c) (Int32, UnsafeMutableRawPointer?, Int, Int) -> Int = {
    (file, bytes, count, offset) in
    guard let hurry = unsafe HurriedThread.current else {
        return unsafe pread(file, bytes, count, offset)
    }
    let readCount = unsafe sallyport_read_what_is_there(file, bytes, count, offset)
    if readCount < 0 {
        unsafe hurry.pointee.isCutShort = true
        if errno == EOPNOTSUPP { unsafe hurry.pointee.isUnsupported = true }
    }
    return readCount
}
