import CLibevent
import CLinux

/// A file on a file system in memory (tmpfs), mapped and shared: a stored word is in the kernel at
/// once and outlives the process, however it ends. No store waits for a disk. If another program
/// removes the file or cuts it short, the process goes on, and ``isKept`` tells.
@safe
public final class MappedFile: @unchecked Sendable {
    private let file: OwnedFile
    private let memory: UnsafeMutableRawPointer
    private let byteCountMax: Int
    private let group = MappedMemory.Group()

    /// Makes an empty draft for at most so many bytes: addresses for them are taken at once, memory
    /// as it grows. Throws if its directory is on a file system with a disk, for which a store
    /// might have to wait.
    public init(
        path: String, draft draftPath: String, rights: FileRights?, byteCountMax: Int
    ) throws(IOError) {
        let directory = File.directory(of: draftPath)
        guard File.isDirectory(directory) else { throw IOError(directory, .notFound) }
        guard File.isInMemory(directory) else { throw IOError(directory, .notInMemory) }
        file = try OwnedFile(path: path, draft: draftPath, rights: rights)
        guard let mapped = unsafe sallyport_map_shared(file.descriptor, byteCountMax) else {
            let code = sallyport_errno()
            file.discard()
            throw IOError(path, errno: code)
        }
        guard unsafe MappedMemory.add(mapped, byteCount: byteCountMax, offset: 0, to: group) else {
            unsafe munmap(mapped, byteCountMax)
            file.discard()
            throw IOError(path, errno: ENOMEM)
        }
        self.byteCountMax = byteCountMax
        unsafe memory = mapped
    }

    deinit {
        unsafe MappedMemory.remove(memory)
        unsafe munmap(memory, byteCountMax)
    }

    /// False once stored words do not reach a file that others find: a store found the file cut
    /// short, or the file was removed or replaced.
    public var isKept: Bool { !group.isLost && file.isInPlace }

    public var path: String { file.path }

    /// Gives the draft its name, replacing an older file.
    public func publish() throws(IOError) { try file.publish() }

    /// Removes the draft.
    public func discard() { file.discard() }

    /// Takes memory, so that no later store can fail for lack of it.
    public func grow(fromByteCount old: Int, to new: Int) throws(IOError) {
        precondition(old >= 0 && old < new && new <= byteCountMax, "not a size of the file")
        let code = posix_fallocate(file.descriptor, old, new - old)
        guard code == 0 else { throw IOError(path, errno: code) }
    }

    /// Stores a word in the machine's byte order. A word beyond ``grow(fromByteCount:to:)`` must
    /// not be stored, and threads must not store the same word at the same time.
    public func store(_ word: UInt64, atWord index: Int) {
        precondition(index >= 0 && index < byteCountMax / 8, "outside of the file")
        unsafe memory.storeBytes(of: word, toByteOffset: index * 8, as: UInt64.self)
    }
}

extension File {
    /// True if the file system of `path` is in memory (tmpfs or ramfs).
    public static func isInMemory(_ path: String) -> Bool {
        unsafe sallyport_is_in_memory(path) != 0
    }

    /// Device, inode and time of birth, which tell a file or directory from every other that this
    /// system has had since it started. Nil if there is none.
    public static func birth(_ path: String) -> [UInt64]? {
        var found: [UInt64] = [0, 0, 0]
        return unsafe sallyport_birth(path, &found) == 0 ? found : nil
    }
}
