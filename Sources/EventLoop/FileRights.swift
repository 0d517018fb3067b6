import CLibevent
import CLinux

/// The owner, group and permission bits of a file.
public struct FileRights: Hashable, Sendable {
    public let user: UInt32
    public let group: UInt32
    /// The lowest nine bits of the mode.
    public let permissions: UInt32

    init(_ status: stat) {
        user = status.st_uid
        group = status.st_gid
        permissions = status.st_mode & 0o777
    }

    /// The rights of the file at `path`, links followed. Nil if there is none.
    public init?(ofFileAt path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// True if the user who made a file with the rights `other` may also write to the file with
    /// these: this process's user, root, the owner, or a member of a group that may write.
    public func admit(_ other: FileRights) -> Bool {
        other.user == geteuid() || other.user == 0 || other.user == user
            || (permissions & 0o020 != 0 && other.group == group) || permissions & 0o002 != 0
    }

    /// Gives the file at `path` these rights as far as this process may. Not for a file that this
    /// process has locked: closing it here would release the locks.
    public func apply(toFileAt path: String) {
        guard let descriptor = try? File.openReading(path) else { return }
        apply(to: descriptor.raw)
    }

    /// Gives an open file these rights as far as this process may, and without the right to
    /// execute, as SQLite does for `-wal`. The group gets no rights if the file cannot be given to
    /// it.
    func apply(to descriptor: Int32) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return }
        if geteuid() == 0 { _ = fchown(descriptor, user, group) }
        if status.st_gid != group { _ = fchown(descriptor, uid_t.max, group) }
        guard unsafe fstat(descriptor, &status) == 0 else { return }
        let mask: UInt32 = status.st_gid == group ? 0o666 : 0o606
        _ = fchmod(descriptor, permissions & mask)
    }
}
