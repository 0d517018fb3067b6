import CSQLite
import EventLoop
import Synchronization

/// The part of our VFS behind each file of a database and of a log that SQLite opens: methods that
/// do what the system's do, and more.
///
/// - **No thread waits in a page fault.** A store into a mapped file waits if the file system is
///   frozen, and in older kernels the whole process then waits as soon as another thread maps
///   memory. SQLite stores into the index of the log only after it got an exclusive lock in it or
///   after the log was synced. So before a lock is given and after a sync, an empty write waits for
///   a frozen file system in the same way, but only this thread.
/// - **An urgent thread stores nothing** and takes no mutex that others hold while they wait: it
///   gets no exclusive lock. SQLite then reads with the mark of an earlier reader, which only keeps
///   a checkpoint from going further meanwhile.
/// - **An index that is lost** (``SharedIndexes``) is neither read nor believed: every method
///   fails, except for unlocking and closing.
@safe
struct OwnFile {
    private var own: sqlite3_io_methods
    private let system: UnsafePointer<sqlite3_io_methods>
    /// The database that the log belongs to.
    private let database: UnsafeMutablePointer<sqlite3_file>?
    /// The group of the index, once a region of it was mapped: retained until it is unmapped.
    private var group: Unmanaged<MappedMemory.Group>?
    /// The first region of the index, while it is mapped.
    private(set) var index: UnsafeMutableRawPointer?
    /// The least length of the index's file.
    private(set) var indexByteCount = 0

    /// The offset of our part behind the system's own.
    private static nonisolated(unsafe) var offset = 0
    private static nonisolated(unsafe) var systemOpen:
        (
            @convention(c) (
                UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?,
                UnsafeMutablePointer<sqlite3_file>?, Int32, UnsafeMutablePointer<Int32>?
            ) -> Int32
        )?

    /// Makes room behind the files of a VFS that is not registered yet.
    static func take(_ files: UnsafeMutablePointer<sqlite3_vfs>) {
        unsafe offset = (Int(files.pointee.szOsFile) + 15) & ~15
        unsafe systemOpen = files.pointee.xOpen
        unsafe files.pointee.szOsFile = Int32(offset + MemoryLayout<OwnFile>.size)
        unsafe files.pointee.xOpen = { files, name, file, flags, found in
            guard let open = unsafe OwnFile.systemOpen else { return SQLITE_MISUSE }
            let status = unsafe open(files, name, file, flags, found)
            if status == SQLITE_OK, let file = unsafe file {
                unsafe OwnFile.begin(file, flags: flags, name: name)
            }
            return status
        }
    }

    private static func begin(
        _ file: UnsafeMutablePointer<sqlite3_file>, flags: Int32, name: UnsafePointer<CChar>?
    ) {
        let isLog = flags & SQLITE_OPEN_WAL != 0
        guard isLog || flags & SQLITE_OPEN_MAIN_DB != 0,
            let system = unsafe file.pointee.pMethods, unsafe system.pointee.iVersion >= 2
        else { return }
        let place = unsafe UnsafeMutableRawPointer(file).advanced(by: offset)
            .bindMemory(to: OwnFile.self, capacity: 1)
        unsafe place.initialize(
            to: OwnFile(
                own: unsafe methods(like: system.pointee), system: system,
                database: isLog ? sqlite3_database_file_object(name) : nil))
        let methods = unsafe UnsafeRawPointer(place).assumingMemoryBound(
            to: sqlite3_io_methods.self)
        unsafe file.pointee.pMethods = methods
    }

    /// Our part behind a file; nil for a file with the system's methods.
    static func behind(
        _ file: UnsafeMutablePointer<sqlite3_file>?
    ) -> UnsafeMutablePointer<OwnFile>? {
        guard let file = unsafe file, unsafe offset > 0 else { return nil }
        let place = unsafe UnsafeMutableRawPointer(file).advanced(by: offset)
            .assumingMemoryBound(to: OwnFile.self)
        // The methods are its first field.
        guard unsafe UnsafeRawPointer(file.pointee.pMethods) == UnsafeRawPointer(place) else {
            return nil
        }
        return unsafe place
    }

    /// True if a part of the index could not be read or written, so that none of it counts.
    var isIndexLost: Bool {
        if let database = unsafe database { return unsafe Self.isIndexLost(database) }
        return unsafe group?._withUnsafeGuaranteedRef { $0.isLost } ?? false
    }

    static func isIndexLost(_ file: UnsafeMutablePointer<sqlite3_file>) -> Bool {
        unsafe behind(file)?.pointee.isIndexLost ?? false
    }

    /// Returns as soon as the file system accepts changes. Writes no byte.
    private func awaitThaw(_ file: UnsafeMutablePointer<sqlite3_file>) {
        var none: UInt8 = 0
        _ = unsafe system.pointee.xWrite?(file, &none, 0, 0)
    }

    /// The system's methods, some of them replaced by ours.
    private static func methods(like system: sqlite3_io_methods) -> sqlite3_io_methods {
        var own = system
        takeContentMethods(&own)
        takeIndexMethods(&own)
        return own
    }

    private static func takeContentMethods(_ own: inout sqlite3_io_methods) {
        unsafe own.xRead = { file, bytes, count, offset in
            guard let this = unsafe OwnFile.behind(file) else { return SQLITE_MISUSE }
            let status = unsafe this.pointee.system.pointee.xRead?(file, bytes, count, offset)
            // Checked afterwards: the index that decided where to read may have been empty memory.
            return unsafe this.pointee.isIndexLost
                ? SQLiteError.lostIndexCode : status ?? SQLITE_MISUSE
        }
        unsafe own.xWrite = { file, bytes, count, offset in
            guard let this = unsafe OwnFile.behind(file), unsafe !this.pointee.isIndexLost else {
                return SQLiteError.lostIndexCode
            }
            return unsafe this.pointee.system.pointee.xWrite?(file, bytes, count, offset)
                ?? SQLITE_MISUSE
        }
        unsafe own.xTruncate = { file, size in
            guard let this = unsafe OwnFile.behind(file), unsafe !this.pointee.isIndexLost else {
                return SQLiteError.lostIndexCode
            }
            return unsafe this.pointee.system.pointee.xTruncate?(file, size)
                ?? SQLITE_MISUSE
        }
        unsafe own.xSync = { file, flags in
            guard let file = unsafe file, let this = unsafe OwnFile.behind(file),
                unsafe !this.pointee.isIndexLost
            else { return SQLiteError.lostIndexCode }
            let status = unsafe this.pointee.system.pointee.xSync?(file, flags)
            unsafe this.pointee.awaitThaw(file)
            return unsafe this.pointee.isIndexLost
                ? SQLiteError.lostIndexCode : status ?? SQLITE_MISUSE
        }
        unsafe own.xClose = { file in
            guard let this = unsafe OwnFile.behind(file) else { return SQLITE_MISUSE }
            let group = unsafe this.pointee.group
            let status = unsafe this.pointee.system.pointee.xClose?(file)
            unsafe group?.release()
            return status ?? SQLITE_MISUSE
        }
    }

    private static func takeIndexMethods(_ own: inout sqlite3_io_methods) {
        unsafe own.xShmMap = { file, number, byteCount, extends, found in
            guard let this = unsafe OwnFile.behind(file), let found = unsafe found,
                unsafe !this.pointee.isIndexLost,
                let map = unsafe this.pointee.system.pointee.xShmMap
            else { return SQLiteError.lostIndexCode }
            let mapped = { unsafe map(file, number, byteCount, extends, found) }
            let status = extends == 0 ? mapped() : IndexGrowth.run(mapped)
            if let start = unsafe found.pointee {
                unsafe this.pointee.noteRegion(start, number: Int(number), of: Int(byteCount))
            }
            return status
        }
        unsafe own.xShmLock = { file, place, count, flags in
            guard let file = unsafe file, let this = unsafe OwnFile.behind(file),
                let lock = unsafe this.pointee.system.pointee.xShmLock
            else { return SQLITE_MISUSE }
            if flags & SQLITE_SHM_LOCK != 0 {
                if unsafe this.pointee.isIndexLost { return SQLiteError.lostIndexCode }
                if flags & SQLITE_SHM_EXCLUSIVE != 0 {
                    if OwnFile.refusesExclusiveLock(at: place, count: count) { return SQLITE_BUSY }
                    unsafe this.pointee.awaitThaw(file)
                }
            }
            return unsafe lock(file, place, count, flags)
        }
        unsafe own.xShmBarrier = { file in
            // The system's method also takes a mutex, under which files are opened and removed.
            if let hurry = unsafe HurriedThread.current, unsafe hurry.pointee.isUrgent {
                atomicMemoryFence(ordering: .sequentiallyConsistent)
                return
            }
            unsafe OwnFile.behind(file)?.pointee.system.pointee.xShmBarrier?(file)
        }
        unsafe own.xShmUnmap = { file, removes in
            guard let this = unsafe OwnFile.behind(file) else { return SQLITE_OK }
            let group = unsafe this.pointee.group
            unsafe this.pointee.forgetRegions()
            let status = unsafe this.pointee.system.pointee.xShmUnmap?(file, removes)
            unsafe group?.release()
            return status ?? SQLITE_OK
        }
    }

    private mutating func noteRegion(
        _ start: UnsafeMutableRawPointer, number: Int, of byteCount: Int
    ) {
        if unsafe group == nil {
            unsafe group = SharedIndexes.group(at: start).map { unsafe Unmanaged.passRetained($0) }
        }
        if number == 0 { unsafe index = start }
        indexByteCount = max(indexByteCount, (number + 1) * byteCount)
    }

    private mutating func forgetRegions() {
        unsafe group = nil
        unsafe index = nil
        indexByteCount = 0
    }

    /// The first lock of a reader. It comes after those for writing, checkpointing and recovering
    /// (SQLite's "WAL-mode File Format", section 2.3).
    private static let firstReadLock: Int32 = 3

    private static func refusesExclusiveLock(at place: Int32, count: Int32) -> Bool {
        guard let hurry = unsafe HurriedThread.current else { return false }
        if unsafe hurry.pointee.isUrgent { return true }
        return unsafe hurry.pointee.sparesMarks && place >= firstReadLock && count == 1
    }
}
