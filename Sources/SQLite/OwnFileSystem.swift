import CSQLite
import Glibc

/// The VFS of every connection: the system's, with a few changes.
///
/// - **Reading without waiting.** SQLite reads with `pread64`, for which its VFS accepts another
///   function ("xSetSystemCall" of its documentation), and pauses with the VFS's `xSleep`. On an
///   urgent thread, reading asks only for what is in memory (`RWF_NOWAIT`, preadv2(2)), and nothing
///   pauses. On all other threads both do what they always do.
/// - **A lost index.** What SQLite maps into memory is added to `MappedMemory`: ``SharedIndexes``.
/// - **The files** of a database and of its log have methods of our own: ``OwnFile``.
enum OwnFileSystem {
    /// The name of our VFS. Nil if SQLite was built otherwise; then connections have the system's
    /// VFS.
    private static let made: (name: String, canReadWithoutWaiting: Bool)? = {
        guard HurriedThread.canBeMarked, let files = unsafe sqlite3_vfs_find(nil),
            let set = unsafe files.pointee.xSetSystemCall,
            // SQLite keeps the name for as long as the process runs.
            let name = unsafe strdup("sallyport"),
            unsafe SharedIndexes.watch(files)
        else { return nil }
        // Only a build that reads with this call has it in its table.
        let reads = unsafe files.pointee.xGetSystemCall?(files, "pread64") != nil
        let call = unsafe unsafeBitCast(readAt, to: sqlite3_syscall_ptr.self)
        let canHurry = unsafe reads && set(files, "pread64", call) == SQLITE_OK
        unsafe systemPause = files.pointee.xSleep
        // SQLite keeps this pointer, too.
        let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        unsafe own.initialize(to: files.pointee)
        unsafe own.pointee.zName = UnsafePointer(name)
        unsafe own.pointee.xSleep = pause
        unsafe OwnFile.take(own)
        guard unsafe sqlite3_vfs_register(own, 0) == SQLITE_OK else { return nil }
        return ("sallyport", canHurry)
    }()

    static var name: String? { made?.name }
    static var canReadWithoutWaiting: Bool { made?.canReadWithoutWaiting ?? false }
}

private let readAt: @convention(c) (Int32, UnsafeMutableRawPointer?, Int, Int) -> Int = {
    (file, bytes, count, offset) in
    guard let hurry = unsafe HurriedThread.current, unsafe hurry.pointee.isUrgent else {
        return unsafe pread(file, bytes, count, offset)
    }
    let readCount = unsafe sallyport_read_what_is_there(file, bytes, count, offset)
    if readCount > 0 { return readCount }
    // Linux 5.9 and 5.10 may return 0 if they would have to wait. SQLite would take that for the
    // end of the file, and keep a page of zeros (preadv2(2), "BUGS").
    if readCount == 0 { errno = EAGAIN }
    unsafe hurry.pointee.isCutShort = true
    // The file system or the system does not know the flag. Other errors may be over next time.
    switch errno {
    case EOPNOTSUPP, EINVAL, ENOSYS: unsafe hurry.pointee.isUnsupported = true
    default: break
    }
    return -1
}

/// The system's xSleep. Set once, before there is a connection.
private nonisolated(unsafe) var systemPause:
    (@convention(c) (UnsafeMutablePointer<sqlite3_vfs>?, Int32) -> Int32)?

private let pause: @convention(c) (UnsafeMutablePointer<sqlite3_vfs>?, Int32) -> Int32 = {
    (files, microseconds) in
    if let hurry = unsafe HurriedThread.current {
        // SQLite pauses when it waits for another connection, and gives up after some tries.
        if unsafe hurry.pointee.isUrgent {
            unsafe hurry.pointee.isCutShort = true
            return 0
        }
        if unsafe !hurry.pointee.needsMark {
            unsafe hurry.pointee.needsMark = true
            return 0
        }
    }
    return unsafe systemPause?(files, microseconds) ?? 0
}
