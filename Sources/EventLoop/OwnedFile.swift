import CLibevent
import CLinux

/// A file that this process makes: it is locked for as long as it is open
/// (``RegularFile/lock()``), so that others can tell that its process lives.
///
/// It is made as a draft, under a name that nobody looks for, filled, and then given its own name.
public final class OwnedFile: Sendable {
    public let path: String
    private let draftPath: String
    private let file: Descriptor

    /// Makes an empty draft, in place of one that a killed process left there. `rights`: nil for
    /// its owner alone.
    public init(
        path: String, draft draftPath: String, rights: FileRights? = nil
    ) throws(IOError) {
        self.path = path
        self.draftPath = draftPath
        _ = unsafe unlink(draftPath)
        do throws(IOError) {
            file = try File.open(draftPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            rights?.apply(to: file.raw)
            try FileLock.take(file.raw, path)
        } catch {
            unsafe unlink(draftPath)
            throw IOError(path, error.reason)
        }
    }

    var descriptor: Int32 { file.raw }

    /// Writes all of `bytes` at `offset`. Blocks.
    public func write(_ bytes: Span<UInt8>, at offset: Int) throws(IOError) {
        var rest = bytes
        var offset = offset
        while !rest.isEmpty {
            let position = off_t(offset)
            let count = unsafe rest.withUnsafeBufferPointer { source in
                unsafe pwrite(file.raw, source.baseAddress, source.count, position)
            }
            if count >= 0 {
                offset += count
                rest = rest.extracting(count...)
            } else {
                let code = sallyport_errno()
                if code != EINTR { throw IOError(path, errno: code) }
            }
        }
    }

    /// Brings to the disk what was written so far. Blocks.
    public func sync() throws(IOError) {
        guard fdatasync(file.raw) == 0 else { throw IOError(path, errno: sallyport_errno()) }
    }

    /// Brings the draft to the disk and gives it its name, in place of what has that. Blocks.
    public func publish() throws(IOError) {
        guard fsync(file.raw) == 0, unsafe rename(draftPath, path) == 0 else {
            throw IOError(path, errno: sallyport_errno())
        }
        try File.syncDirectory(of: path)
    }

    /// Removes the draft.
    public func discard() { _ = unsafe unlink(draftPath) }

    /// False if the file's name leads to another file, or to none.
    public var isInPlace: Bool {
        var own = stat()
        var found = stat()
        guard unsafe fstat(file.raw, &own) == 0, unsafe stat(path, &found) == 0 else {
            return false
        }
        return own.st_dev == found.st_dev && own.st_ino == found.st_ino
    }
}
