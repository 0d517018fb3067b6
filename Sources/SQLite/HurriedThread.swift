import CSQLite
import Glibc

/// How the reads of a thread in a hurry have fared.
struct Hurry {
    /// Whether one failed because it would have had to wait.
    var isCutShort = false
    /// Whether the system knows no reading without waiting, or not in this file system.
    var isUnsupported = false
}

/// Threads that must not wait, and what SQLite does on them.
///
/// SQLite reads with `pread64`, for which its VFS takes another function ("xSetSystemCall" of its
/// documentation), and pauses with the VFS's `xSleep`. On a thread in a hurry, reading asks for
/// what is in memory only (`RWF_NOWAIT`, preadv2(2)), and nothing pauses. On all others both do
/// what they always do.
enum HurriedThread {
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// The VFS of every connection: the system's, with a pause of our own. Nil where it is not
    /// possible to read without waiting; then connections have the system's.
    static let fileSystem: String? = {
        guard key != nil, let files = unsafe sqlite3_vfs_find(nil),
            let get = unsafe files.pointee.xGetSystemCall,
            let set = unsafe files.pointee.xSetSystemCall,
            // Only a build that reads with this call has it in its table.
            unsafe get(files, "pread64") != nil,
            // SQLite keeps the name for as long as the process runs.
            let name = unsafe strdup("sallyport")
        else { return nil }
        let call = unsafe unsafeBitCast(readAt, to: sqlite3_syscall_ptr.self)
        guard unsafe set(files, "pread64", call) == SQLITE_OK else { return nil }
        unsafe systemPause = files.pointee.xSleep
        // SQLite keeps this pointer, too.
        let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        unsafe own.initialize(to: files.pointee)
        unsafe own.pointee.zName = UnsafePointer(name)
        unsafe own.pointee.xSleep = pause
        return unsafe sqlite3_vfs_register(own, 0) == SQLITE_OK ? "sallyport" : nil
    }()

    /// False if the thread cannot be marked.
    static func set(_ hurry: UnsafeMutablePointer<Hurry>?) -> Bool {
        guard let key else { return false }
        return unsafe pthread_setspecific(key, hurry) == 0
    }

    /// What the calling thread has set; nil if it has time.
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
    if readCount > 0 { return readCount }
    // Linux 5.9 and 5.10 may say 0 where they would have to wait, which SQLite would take for the
    // end of the file, and keep a page of zeros (preadv2(2), "BUGS").
    if readCount == 0 { errno = EAGAIN }
    unsafe hurry.pointee.isCutShort = true
    // The file system or the system does not know the flag. Anything else may be over next time.
    switch errno {
    case EOPNOTSUPP, EINVAL, ENOSYS: unsafe hurry.pointee.isUnsupported = true
    default: break
    }
    return -1
}

/// Set once, before there is a connection.
private nonisolated(unsafe) var systemPause:
    (@convention(c) (UnsafeMutablePointer<sqlite3_vfs>?, Int32) -> Int32)?

private let pause: @convention(c) (UnsafeMutablePointer<sqlite3_vfs>?, Int32) -> Int32 = {
    (files, microseconds) in
    guard let hurry = unsafe HurriedThread.current else {
        return unsafe systemPause?(files, microseconds) ?? 0
    }
    // Whoever pauses waits for another connection, and gives up after some tries.
    unsafe hurry.pointee.isCutShort = true
    return 0
}
