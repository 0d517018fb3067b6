import CLibevent
import CLinux

/// A file that this process makes: it is locked for as long as it is open
/// (``RegularFile/lock()``), so that others can tell that its process lives.
///
/// The file is made as a draft under a name that no reader looks for, filled, and then given its
/// own name.
public final class OwnedFile: Sendable {
    public let path: String
    private let draftPath: String
    private let file: Descriptor

    /// Makes an empty draft, replacing one that a killed process left there. `rights`: nil for its
    /// owner alone.
    public init(
        path: String, draft draftPath: String, rights: FileRights? = nil
    ) throws(IOError) {
        self.path = path
        self.draftPath = draftPath
        file = try Self.lockedDraft(draftPath, for: path, rights)
    }

    deinit { FileLock.release(file.raw) }

    /// Makes the draft and locks it. Between the two, another process may take the draft for one
    /// that a killed process has left, and remove it; then it is made once more.
    private static func lockedDraft(
        _ draftPath: String, for path: String, _ rights: FileRights?
    ) throws(IOError) -> Descriptor {
        var triesLeft = 100
        while true {
            _ = unsafe unlink(draftPath)
            do throws(IOError) {
                let file = try File.open(
                    draftPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
                rights?.apply(to: file.raw)
                try FileLock.take(file.raw, path)
                if File.leads(draftPath, to: file.raw) { return file }
                throw IOError(path, .locked)
            } catch {
                triesLeft -= 1
                if error.reason == .locked, triesLeft > 0 { continue }
                unsafe unlink(draftPath)
                throw IOError(path, error.reason)
            }
        }
    }

    var descriptor: Int32 { file.raw }

    /// Writes all of `bytes` at `offset`. Blocks.
    public func write(_ bytes: Span<UInt8>, at offset: Int) throws(IOError) {
        try File.writeAll(file.raw, path, bytes, at: offset)
    }

    /// Syncs the bytes written so far to the disk. Blocks.
    public func sync() throws(IOError) {
        guard fdatasync(file.raw) == 0 else { throw IOError(path, errno: sallyport_errno()) }
    }

    /// Syncs the draft to the disk and gives it its name, replacing an older file. Blocks.
    public func publish() throws(IOError) {
        guard fsync(file.raw) == 0, unsafe rename(draftPath, path) == 0 else {
            throw IOError(path, errno: sallyport_errno())
        }
        try File.syncDirectory(of: path)
    }

    /// Removes the draft.
    public func discard() { _ = unsafe unlink(draftPath) }

    /// False if the file's name leads to another file, or to none.
    public var isInPlace: Bool { File.leads(path, to: file.raw) }
}
