import Foundation

/// A file system of its own on a loop device, which a test can freeze as a snapshot does, or cut
/// off as a lost volume is.
///
/// It is thawed and unmounted when its owner releases it, and also if the test process is killed:
/// a shell of a session of its own waits for the lock that the test process holds.
public final class LoopFileSystem: Sendable {
    /// Types of file systems, by the name that `mkfs` knows.
    public enum Kind: String, Sendable {
        case ext4
        case xfs
    }

    /// The mounted directory. Everyone may write there.
    public let path: String
    private let directory: ScratchDirectory
    private let lock: Int32

    /// Makes and mounts a file system. `mebibytes` of nil is the least that `mkfs` makes with
    /// some room: 32 MiB of ext4, 320 MiB of XFS. Its image is sparse.
    public init(_ kind: Kind = .ext4, mebibytes: Int? = nil) throws {
        let directory = try ScratchDirectory()
        self.directory = directory
        path = directory.path(of: "mounted")
        let image = directory.path(of: "image")
        lock = open(directory.path(of: "lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX) == 0 else {
            throw LoopFileSystemError(description: "lock: \(String(cString: strerror(errno)))")
        }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let size = mebibytes ?? (kind == .xfs ? 320 : 32)
        try Self.run("truncate", ["-s", "\(size)M", image])
        try Self.run("mkfs.\(kind)", kind == .ext4 ? ["-q", "-F", image] : ["-q", image])
        try Self.run("sh", ["-c", Self.keeping, "sh", directory.path])
        try Self.run("mount", ["-o", "loop", image, path])
        try Self.run("chmod", ["1777", path])
    }

    deinit {
        thaw()
        // Lazily: a gateway that a test has killed may still be on its way out.
        try? Self.run("umount", ["--lazy", path])
        close(lock)
    }

    /// Blocks every write from now on, in any process, until ``thaw()``.
    public func freeze() throws { try Self.run("fsfreeze", ["--freeze", path]) }

    /// Lets writes go on. Does nothing to a file system that is not frozen.
    public func thaw() { try? Self.run("fsfreeze", ["--unfreeze", path]) }

    /// Takes all the room that root may have, until ``empty()``.
    public func fill() throws {
        // It ends with an error once there is no room left.
        _ = try ChildProcess.run("dd", ["if=/dev/zero", "of=\(filler)", "bs=4k", "status=none"])
        try Self.run("sync", ["-f", path])
    }

    /// Gives back what ``fill()`` took.
    public func empty() throws { try FileManager.default.removeItem(atPath: filler) }

    private var filler: String { path + "/filler" }

    /// Cuts the file system off at once, with nothing of its log written, as it does itself after
    /// an I/O error in its log. From then on calls fail with EIO. It does not come back.
    public func shutDown() throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(descriptor) }
        var flags: UInt32 = Self.noLogFlush
        guard descriptor >= 0, ioctl(descriptor, Self.goingDown, &flags) == 0 else {
            throw LoopFileSystemError(description: "shutdown: \(String(cString: strerror(errno)))")
        }
    }

    /// True if this process may make and mount such a file system: it is root, and there are loop
    /// devices and the programs for `kind`.
    public static func isAllowed(_ kind: Kind = .ext4) -> Bool {
        switch kind {
        case .ext4: ext4IsAllowed
        case .xfs: xfsIsAllowed
        }
    }

    /// For the comment of a trait that skips a test.
    public static let needs = "needs root, a loop device, mkfs and fsfreeze"

    private static let ext4IsAllowed = (try? LoopFileSystem(.ext4)) != nil
    private static let xfsIsAllowed = (try? LoopFileSystem(.xfs)) != nil

    /// XFS_IOC_GOINGDOWN, which ext4 knows as EXT4_IOC_SHUTDOWN: `_IOR('X', 125, __u32)`.
    private static let goingDown: UInt = 0x8004_587D
    /// XFS_FSOP_GOING_FLAGS_NOLOGFLUSH and its like of ext4.
    private static let noLogFlush: UInt32 = 2

    /// Cleans up once nobody holds the lock. `ChildProcess` ends what it started with the test, so
    /// this goes on in a session of its own, with no output that anything waits for.
    private static let keeping = """
        setsid sh -c '
            cd / && flock "$1/lock" true
            fsfreeze --unfreeze "$1/mounted"
            umount --lazy "$1/mounted"
            rm -rf --one-file-system "$1"
        ' sh "$1" </dev/null >/dev/null 2>&1 &
        """

    private static func run(_ program: String, _ arguments: [String]) throws {
        let outcome = try ChildProcess.run(program, arguments)
        guard outcome.status == .exited(0) else {
            throw LoopFileSystemError(
                description: "\(program) \(arguments): \(outcome.standardError)")
        }
    }
}

public struct LoopFileSystemError: Error, CustomStringConvertible {
    public let description: String
}
