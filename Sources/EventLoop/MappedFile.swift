import CLibevent
import CLinux

/// A file that is memory (mmap, shared): what is stored is the kernel's at once and outlives the
/// process, however it ends. The kernel writes it to the disk in the background.
///
/// Whoever cuts the file short under the process ends it with SIGBUS.
@safe
public final class MappedFile: @unchecked Sendable {
    private let path: String
    private let file: Descriptor
    private let memory: UnsafeMutableRawPointer
    private let byteCountMax: Int

    /// An empty file that was not there, for its owner alone, and for at most so many bytes:
    /// addresses for them are taken at once, memory and disk as it grows. It is locked for as long
    /// as this lives (``RegularFile/lock()``), so that others can tell that its process lives.
    public init(creating path: String, byteCountMax: Int) throws(IOError) {
        let opened = try File.open(path, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        try FileLock.take(opened.raw, path)
        // Else a store may need room on the disk that ``grow(fromByteCount:to:)`` has not taken.
        sallyport_write_in_place(opened.raw)
        guard let mapped = unsafe sallyport_map_shared(opened.raw, byteCountMax) else {
            throw IOError(path, errno: sallyport_errno())
        }
        self.path = path
        self.byteCountMax = byteCountMax
        file = opened
        unsafe memory = mapped
    }

    deinit { unsafe munmap(memory, byteCountMax) }

    /// Takes room on the disk, so that no later store can fail for want of it.
    public func grow(fromByteCount old: Int, to new: Int) throws(IOError) {
        precondition(old >= 0 && old < new && new <= byteCountMax, "not a size of the file")
        let code = posix_fallocate(file.raw, old, new - old)
        guard code == 0 else { throw IOError(path, errno: code) }
    }

    /// A word in the machine's byte order. What lies beyond ``grow(fromByteCount:to:)`` must not be
    /// stored; threads must not store the same word at a time.
    public func store(_ word: UInt64, atWord index: Int) {
        precondition(index >= 0 && index < byteCountMax / 8, "outside of the file")
        unsafe memory.storeBytes(of: word, toByteOffset: index * 8, as: UInt64.self)
    }

    /// Brings what was stored so far to the disk, and the file under another name.
    public func rename(_ from: String, to path: String) throws(IOError) {
        guard fsync(file.raw) == 0, unsafe CLinux.rename(from, path) == 0 else {
            throw IOError(path, errno: sallyport_errno())
        }
        try File.syncDirectory(of: path)
    }

    /// Brings what was stored so far to the disk. Blocks.
    public func sync() throws(IOError) {
        guard fdatasync(file.raw) == 0 else { throw IOError(path, errno: sallyport_errno()) }
    }
}
