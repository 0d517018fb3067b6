import Bytes
import CLibevent
import CLinux

/// An existing regular file, opened for reading: no link, directory, device or pipe.
public final class RegularFile: Sendable {
    public let path: String
    public let rights: FileRights
    private let file: Descriptor

    /// Opens the file. Never blocks, whatever is at `path`.
    public init(_ path: String) throws(IOError) {
        let file = try File.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, mode: 0)
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else {
            throw IOError(path, errno: sallyport_errno())
        }
        if File.isDirectory(status) { throw IOError(path, .isDirectory) }
        guard status.st_mode & mode_t(S_IFMT) == mode_t(S_IFREG) else {
            throw IOError(path, .notRegular)
        }
        self.path = path
        rights = FileRights(status)
        self.file = file
    }

    deinit { FileLock.release(file.raw) }

    /// Keeps other processes from locking it for as long as this lives. Does not wait: throws
    /// ``IOError/Reason/locked`` if another process holds the lock.
    public func lock() throws(IOError) { try FileLock.take(file.raw, path) }

    /// False if the file's name leads to another file, or to none.
    public var isInPlace: Bool { File.leads(path, to: file.raw) }

    /// Reads the whole file. Throws if it holds more than `byteCountMax` bytes. To be called once.
    public func read(byteCountMax: Int) throws(IOError) -> [UInt8] {
        try File.readAll(file.raw, path, byteCountMax: byteCountMax)
    }

    /// Reads a part of the file. Throws ``IOError/Reason/cutShort`` if the file ends before.
    public func read(at offset: Int, byteCount: Int) throws(IOError) -> [UInt8] {
        var buffer = ByteBuffer(capacity: max(0, byteCount))
        do throws(IOError) {
            while buffer.count < byteCount {
                let filled = buffer.count
                let count = try File.read(
                    file.raw, at: offset + filled, into: &buffer, atMost: byteCount - filled)
                if count == 0 { throw IOError(path, .cutShort) }
            }
        } catch {
            throw IOError(path, error.reason)
        }
        return buffer.readable.array
    }
}
