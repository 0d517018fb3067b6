import CLibevent
import CLinux

/// The file of a unix socket, told apart from any other file that takes its name later.
public struct SocketFile: Hashable, Sendable {
    public let path: String
    /// The device and number of the file: `DEVICE.NUMBER`.
    let identity: String

    /// The socket at `path`; nil if there is none.
    public init?(_ path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & mode_t(S_IFMT) == mode_t(S_IFSOCK)
        else { return nil }
        self.path = path
        identity = "\(status.st_dev).\(status.st_ino)"
    }

    /// True if the file still has its name.
    public var isInPlace: Bool { SocketFile(path) == self }

    /// Lets every user connect who may look into the directory, whatever the process's umask is, as
    /// other proxies do.
    public func letAllConnect() {
        guard isInPlace else { return }
        _ = unsafe chmod(path, 0o666)
    }

    /// Removes the file, unless another one has its name by now.
    public func remove() {
        guard isInPlace else { return }
        // A file that stays does no harm: the next start replaces it.
        unsafe unlink(path)
    }
}
