public import Bytes
import CLibevent
import CLinux

extension File {
    /// Makes the directory if it is missing, for this user alone (mode 0700).
    ///
    /// Throws if it is there and another user may look into it, or owns it:
    /// ``IOError/Reason/openToOthers``.
    public static func makePrivateDirectory(_ path: String) throws(IOError) {
        if unsafe mkdir(path, 0o700) != 0 {
            let code = sallyport_errno()
            guard code == EEXIST else { throw IOError(path, errno: code) }
        }
        let directory = try open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, mode: 0)
        var status = stat()
        guard unsafe fstat(directory.raw, &status) == 0 else {
            throw IOError(path, errno: sallyport_errno())
        }
        guard status.st_mode & 0o077 == 0, status.st_uid == geteuid() else {
            throw IOError(path, .openToOthers)
        }
    }

    /// True if only the owner may do anything with the file or directory.
    public static func isOnlyOwners(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & 0o077 == 0
    }

    /// The reason why this process may not make files in `directory`; nil if it may.
    public static func obstacle(inDirectory directory: String) -> IOError.Reason? {
        var status = stat()
        guard unsafe stat(directory, &status) == 0 else { return .init(errno: sallyport_errno()) }
        guard isDirectory(status) else { return .other(errno: ENOTDIR) }
        return unsafe access(directory, W_OK | X_OK) == 0 ? nil : .init(errno: sallyport_errno())
    }

    /// The bytes and files that the file system of `path` still accepts from users without
    /// privileges. Nil if that is not known; no count of files if there is no limit.
    public static func room(at path: String) -> (byteCount: UInt64, fileCount: UInt64?)? {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        return (
            UInt64(status.f_bavail) * UInt64(status.f_frsize),
            status.f_files == 0 ? nil : UInt64(status.f_favail)
        )
    }

    /// The number of bytes in the file. Throws if it is no regular file, which has no length,
    /// without opening it, because a pipe would make this wait for a writer.
    public static func regularByteCount(_ path: String) throws(IOError) -> Int {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            throw IOError(path, errno: sallyport_errno())
        }
        if isDirectory(status) { throw IOError(path, .isDirectory) }
        guard status.st_mode & mode_t(S_IFMT) == mode_t(S_IFREG) else {
            throw IOError(path, .notRegular)
        }
        return Int(status.st_size)
    }

    /// Appends to `buffer` up to `byteCountMax` bytes of a file from `offset` on; 0 at its end.
    public static func read(
        _ descriptor: Int32, at offset: Int, into buffer: inout ByteBuffer, atMost byteCountMax: Int
    ) throws(IOError) -> Int {
        precondition(offset >= 0 && byteCountMax > 0)
        while true {
            var code: Int32 = 0
            let filled = unsafe buffer.withUnsafeWritable(minimumCount: byteCountMax) { target in
                let count = unsafe pread(
                    descriptor, target.baseAddress, byteCountMax, off_t(offset))
                if count < 0 { code = sallyport_errno() }
                return max(count, 0)
            }
            if code == 0 { return filled }
            if code != EINTR { throw IOError("descriptor \(descriptor)", errno: code) }
        }
    }
}
