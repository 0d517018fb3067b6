import CSQLite
import EventLoop
import Glibc

/// The indexes of logs that this process has mapped (`-shm`): SQLite maps each once, for all
/// connections to one file.
///
/// Its VFS takes other functions in the place of `mmap` and `munmap`, which add each region to
/// `MappedMemory`. All regions of one file are one group, because an index of which a part is lost
/// must not be believed.
enum SharedIndexes {
    private struct Region {
        let file: FileNumber
        let group: MappedMemory.Group
    }

    /// The regions by their addresses.
    private static let regions = Locked<[UInt: Region]>([:])

    /// Has SQLite map files through this. False if it was built so that it does not ask its VFS.
    static func watch(_ files: UnsafeMutablePointer<sqlite3_vfs>) -> Bool {
        guard let get = unsafe files.pointee.xGetSystemCall,
            let set = unsafe files.pointee.xSetSystemCall,
            unsafe get(files, "mmap") != nil, unsafe get(files, "munmap") != nil
        else { return false }
        let taken = unsafe [
            set(files, "munmap", unsafeBitCast(unmap, to: sqlite3_syscall_ptr.self)),
            set(files, "mmap", unsafeBitCast(map, to: sqlite3_syscall_ptr.self)),
        ]
        return taken == [SQLITE_OK, SQLITE_OK]
    }

    /// The group of the region that begins at `start`.
    static func group(at start: UnsafeMutableRawPointer) -> MappedMemory.Group? {
        regions.withLock { $0[UInt(bitPattern: start)]?.group }
    }

    fileprivate static func add(
        _ start: UnsafeMutableRawPointer, _ byteCount: Int, _ file: Int32, _ offset: Int
    ) -> Bool {
        guard let number = FileNumber(descriptor: file) else { return false }
        return regions.withLock { regions in
            let group =
                regions.values.first { $0.file == number }?.group ?? MappedMemory.Group()
            guard
                unsafe MappedMemory.add(start, byteCount: byteCount, offset: offset, to: group)
            else { return false }
            regions[UInt(bitPattern: start)] = Region(file: number, group: group)
            return true
        }
    }

    fileprivate static func remove(_ start: UnsafeMutableRawPointer) {
        regions.withLock { regions in
            guard regions.removeValue(forKey: UInt(bitPattern: start)) != nil else { return }
            unsafe MappedMemory.remove(start)
        }
    }
}

private let map:
    @convention(c) (UnsafeMutableRawPointer?, Int, Int32, Int32, Int32, Int) ->
        UnsafeMutableRawPointer? = { address, byteCount, protection, flags, file, offset in
            let failed = unsafe sallyport_map_failed()
            let start = unsafe mmap(address, byteCount, protection, flags, file, offset)
            // Only an index is mapped as shared: databases are read (PRAGMA mmap_size = 0).
            guard flags & MAP_SHARED != 0, let start = unsafe start, unsafe start != failed else {
                return unsafe start
            }
            // A worker reads it, and must not wait for a page that the system has evicted. If the
            // limit of locked memory is reached, the page is fetched when it is read.
            unsafe mlock(start, byteCount)
            if unsafe SharedIndexes.add(start, byteCount, file, offset) {
                return unsafe start
            }
            unsafe munmap(start, byteCount)
            errno = ENOMEM
            return unsafe failed
        }

private let unmap: @convention(c) (UnsafeMutableRawPointer?, Int) -> Int32 = { start, byteCount in
    if let start = unsafe start { unsafe SharedIndexes.remove(start) }
    return unsafe munmap(start, byteCount)
}
