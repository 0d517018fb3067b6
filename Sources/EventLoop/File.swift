public import Bytes
import CLibevent
import CLinux

/// Reads and writes small files as a whole (keys, certificates, configuration), and the
/// destinations of log lines.
public enum File {
    public static let standardOutput: Int32 = STDOUT_FILENO
    public static let standardError: Int32 = STDERR_FILENO
    /// The error number of a pipe whose reader has gone.
    public static let noReader: Int32 = EPIPE

    /// Reads the whole file. Throws if it holds more than `byteCountMax` bytes. A pipe is read to
    /// its end; it is empty if no process has it open for writing.
    public static func read(_ path: String, byteCountMax: Int) throws(IOError) -> [UInt8] {
        // Without it, opening a named pipe without a writer would block forever.
        let file = try open(path, O_RDONLY | O_NONBLOCK, mode: 0)
        let code = sallyport_block(file.raw)
        guard code == 0 else { throw IOError(path, errno: code) }
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else {
            throw IOError(path, errno: sallyport_errno())
        }
        if isDirectory(status) { throw IOError(path, .isDirectory) }
        return try readAll(
            file.raw, path, byteCountMax: byteCountMax, expected: Int(clamping: status.st_size))
    }

    /// `expected`: the length of a regular file, which is read into one piece of memory, so that a
    /// secret leaves no copy in another one.
    static func readAll(
        _ descriptor: Int32, _ path: String, byteCountMax: Int, expected: Int = 0
    ) throws(IOError) -> [UInt8] {
        var bytes: [UInt8] = []
        // One byte more than allowed shows that there is more.
        bytes.reserveCapacity(min(max(0, expected), byteCountMax) + 1)
        while true {
            var code: Int32 = 0
            let room = bytes.capacity - bytes.count
            let wanted = min(room > 0 ? room : 64 * 1024, byteCountMax - bytes.count + 1)
            let before = bytes.count
            bytes.append(addingCapacity: wanted) { output in
                unsafe output.withUnsafeMutableBufferPointer { target, filled in
                    let start = unsafe target.baseAddress.map { unsafe $0 + filled }
                    let count = unsafe CLinux.read(descriptor, start, wanted)
                    if count < 0 { code = sallyport_errno() } else { filled += count }
                }
            }
            if code == EINTR { continue }
            if code != 0 { throw IOError(path, errno: code) }
            if bytes.count == before { return bytes }
            if bytes.count > byteCountMax {
                throw IOError(path, .tooLarge(byteCountMax: byteCountMax))
            }
        }
    }

    /// Replaces the file as a whole: readers see the old bytes or the new, also after a crash. A
    /// device or a pipe is written to, and stays what it is.
    ///
    /// `mode` is set exactly, whatever the process's mask is.
    public static func write(_ path: String, _ bytes: [UInt8], mode: UInt32) throws(IOError) {
        guard isReplaceable(path) else { return try writeInPlace(path, bytes) }
        let (directory, name) = split(path)
        let temporary = "\(directory).\(name).\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        do throws(IOError) {
            let file = try open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: mode)
            try fill(file.raw, bytes, mode: mode)
        } catch {
            unsafe unlink(temporary)
            throw IOError(path, error.reason)
        }
        guard unsafe CLinux.rename(temporary, path) == 0 else {
            let code = sallyport_errno()
            unsafe unlink(temporary)
            throw IOError(path, errno: code)
        }
        try syncDirectory(of: path)
    }

    /// True if a file may take the place of what has the name: a file, nothing, or a link that is
    /// not the system's own name for an open descriptor.
    private static func isReplaceable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return true }
        return switch status.st_mode & mode_t(S_IFMT) {
        case mode_t(S_IFREG), mode_t(S_IFDIR): true
        case mode_t(S_IFLNK): !path.hasPrefix("/dev/") && !path.hasPrefix("/proc/")
        default: false
        }
    }

    private static func writeInPlace(_ path: String, _ bytes: [UInt8]) throws(IOError) {
        // Without it, opening a named pipe without a reader would block forever.
        let end = try open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY, mode: 0)
        let code = sallyport_block(end.raw)
        guard code == 0 else { throw IOError(path, errno: code) }
        do throws(IOError) {
            try appendAll(end.raw, bytes)
        } catch {
            throw IOError(path, error.reason)
        }
    }

    /// Brings the directory to the disk, because a new name is safe from a crash only then.
    static func syncDirectory(of path: String) throws(IOError) {
        let parent = try open(split(path).directory, O_RDONLY | O_DIRECTORY, mode: 0)
        guard fsync(parent.raw) == 0 else { throw IOError(path, errno: sallyport_errno()) }
    }

    /// The directory that holds the file.
    public static func directory(of path: String) -> String { split(path).directory }

    /// The directory with its slash, and the name in it.
    private static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: 0x2F) else { return ("./", path) }
        return (String(path[...slash]), String(path[path.index(after: slash)...]))
    }

    private static func fill(
        _ descriptor: Int32, _ bytes: [UInt8], mode: UInt32
    ) throws(IOError) {
        guard fchmod(descriptor, mode) == 0 else { throw IOError("", errno: sallyport_errno()) }
        try appendAll(descriptor, bytes)
        guard fsync(descriptor) == 0 else { throw IOError("", errno: sallyport_errno()) }
    }

    private static func appendAll(_ descriptor: Int32, _ bytes: [UInt8]) throws(IOError) {
        var offset = 0
        while offset < bytes.count {
            switch append(descriptor, bytes.span.extracting(offset...)) {
            case .bytes(let count): offset += count
            case .wouldBlock: throw IOError("", errno: EAGAIN)
            case .failed(let code): throw IOError("", errno: code)
            }
        }
    }

    /// Writes all of `bytes` to a regular file at `offset`. Blocks. After an error, any part of
    /// them may have been written.
    static func writeAll(
        _ descriptor: Int32, _ path: String, _ bytes: Span<UInt8>, at offset: Int
    ) throws(IOError) {
        var written = 0
        while written < bytes.count {
            let position = off_t(offset + written)
            let count = unsafe bytes.extracting(written...).withUnsafeBufferPointer { source in
                unsafe pwrite(descriptor, source.baseAddress, source.count, position)
            }
            if count > 0 {
                written += count
                continue
            }
            // A file system that accepts nothing and gives no reason has no room.
            let code = count < 0 ? sallyport_errno() : ENOSPC
            if code != EINTR { throw IOError(path, errno: code) }
        }
    }

    /// Opens a file, a pipe or standard input by its path, for reading piece by piece.
    public static func openReading(_ path: String) throws(IOError) -> Descriptor {
        try open(path, O_RDONLY, mode: 0)
    }

    /// Appends up to `byteCountMax` bytes to `buffer`; 0 at the end. Blocks if a pipe is empty.
    public static func read(
        _ descriptor: Int32, into buffer: inout ByteBuffer, atMost byteCountMax: Int
    ) throws(IOError) -> Int {
        while true {
            var code: Int32 = 0
            let filled = unsafe buffer.withUnsafeWritable(minimumCount: byteCountMax) { target in
                let count = unsafe CLinux.read(descriptor, target.baseAddress, byteCountMax)
                if count < 0 { code = sallyport_errno() }
                return max(count, 0)
            }
            if code == 0 { return filled }
            if code != EINTR { throw IOError("descriptor \(descriptor)", errno: code) }
        }
    }

    /// Opens a file for appending, such as a log, and makes it if it is missing. Waits neither for
    /// a reader of a named pipe nor for room in the pipe.
    public static func openAppending(
        _ path: String, mode: UInt32 = 0o640
    ) throws(IOError) -> Descriptor {
        var status = stat()
        let isPipe =
            unsafe stat(path, &status) == 0
            && status.st_mode & mode_t(S_IFMT) == mode_t(S_IFIFO)
        // A pipe that is opened for reading, too, can be opened without a reader (fifo(7)).
        let access = isPipe ? O_RDWR : O_WRONLY | O_CREAT | O_APPEND
        return try open(path, access | O_NONBLOCK, mode: mode)
    }

    /// Opens the file behind `descriptor` again, so that writes do not wait; nil if that is not
    /// possible. Writes of other processes to it are not affected.
    public static func openAgain(_ descriptor: Int32) -> Descriptor? {
        let flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY
        return try? open("/proc/self/fd/\(descriptor)", flags, mode: 0)
    }

    /// The way in which bytes are appended without a wait.
    public enum End: Sendable {
        /// A file, or another destination whose writes do not wait.
        case plain
        case socket
        /// A pipe or a terminal whose writes wait.
        case waiting
    }

    public static func end(_ descriptor: Int32) -> End {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return .plain }
        switch status.st_mode & mode_t(S_IFMT) {
        case mode_t(S_IFREG): return .plain
        case mode_t(S_IFSOCK): return .socket
        default: return sallyport_waits(descriptor) != 0 ? .waiting : .plain
        }
    }

    /// Appends whole lines, as many as a pipe takes at once whose writes wait, because other
    /// processes may write to it as well. A terminal may be waited for nevertheless. SIGPIPE must
    /// be ignored.
    public static func appendAtOnce(_ descriptor: Int32, _ lines: Span<UInt8>) -> WriteOutcome {
        guard awaitWritable(descriptor, milliseconds: 0) else { return .wouldBlock }
        // A pipe that reports room has room for this much (pipe(7)).
        let piece = lines.extracting(first: Int(PIPE_BUF))
        let end = piece.indices.last { piece[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
        return append(descriptor, piece.extracting(first: end ?? piece.count))
    }

    /// Writes once to the destination of a log, which is a file or a pipe. SIGPIPE must be ignored.
    public static func append(_ descriptor: Int32, _ bytes: Span<UInt8>) -> WriteOutcome {
        unsafe bytes.withUnsafeBufferPointer { source in
            while true {
                let count = unsafe CLinux.write(descriptor, source.baseAddress, source.count)
                if count >= 0 { return .bytes(count) }
                let code = sallyport_errno()
                if code == EAGAIN { return .wouldBlock }
                if code != EINTR { return .failed(errno: code) }
            }
        }
    }

    /// Waits until a pipe or file takes bytes, or has failed. False if neither happens in time.
    public static func awaitWritable(_ descriptor: Int32, milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            let count = unsafe poll(&request, 1, milliseconds)
            if count >= 0 { return count > 0 }
            if sallyport_errno() != EINTR { return false }
        }
    }

    public static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && isDirectory(status)
    }

    static func isDirectory(_ status: stat) -> Bool {
        status.st_mode & mode_t(S_IFMT) == mode_t(S_IFDIR)
    }

    /// The length of a regular file; nil for anything else.
    public static func byteCount(_ path: String) -> Int? {
        var status = stat()
        guard unsafe stat(path, &status) == 0,
            status.st_mode & mode_t(S_IFMT) == mode_t(S_IFREG)
        else { return nil }
        return Int(status.st_size)
    }

    /// The time of the last change of a file's content, in milliseconds since 1970, which processes
    /// can set. Nil if there is no file.
    public static func modifiedMilliseconds(_ path: String) -> Int64? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000
    }

    /// The path with every link followed; unchanged if nothing is there yet.
    public static func resolved(_ path: String) -> String {
        guard let real = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }

    /// Tells this very file, whatever is written to it, from another one in its place, by device
    /// and inode. Nil if there is none.
    public static func inode(_ path: String) -> [UInt64]? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return [UInt64(status.st_dev), UInt64(status.st_ino)]
    }

    /// Tells this very file from a copy that was put in its place, or written over it: its inode,
    /// and the time of the last change of its inode, which no process can set. Nil if there is no
    /// file.
    public static func identity(_ path: String) -> [UInt64]? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        let changed = status.st_ctim
        return [
            UInt64(status.st_ino),
            UInt64(bitPattern: Int64(changed.tv_sec)) &* 1_000_000_000 &+ UInt64(changed.tv_nsec),
        ]
    }

    /// The names in the directory of `path` that begin with its last component.
    public static func namesBeginning(_ path: String) throws(IOError) -> [String] {
        let (directory, prefix) = split(path)
        guard let stream = unsafe opendir(directory) else {
            throw IOError(directory, errno: sallyport_errno())
        }
        defer { unsafe closedir(stream) }
        let wanted = Array(prefix.utf8CString.dropLast())
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                    // The directory may have thousands of others, and none costs an allocation, as
                    // the prefix would as a string.
                    guard unsafe strncmp(name, wanted, wanted.count) == 0 else { return }
                    names.append(unsafe directory + String(cString: name))
                }
            }
        }
        return names
    }

    /// The target that a link names, unresolved; nil if the file is not a link.
    static func linkTarget(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = unsafe readlink(path, &bytes, bytes.count)
        guard length > 0 else { return nil }
        return String(decoding: bytes[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    public static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// True if this process may make files in `directory`.
    public static func canWrite(inDirectory directory: String) -> Bool {
        obstacle(inDirectory: directory) == nil
    }

    /// True if this process may read and change the file.
    public static func canChange(_ path: String) -> Bool {
        unsafe access(path, R_OK | W_OK) == 0
    }

    /// True if users that neither own the file nor are in its group may read or change it.
    public static func isOpenToOthers(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & 0o006 != 0
    }

    public static func remove(_ path: String) throws(IOError) {
        guard unsafe unlink(path) == 0 else { throw IOError(path, errno: sallyport_errno()) }
    }

    /// Gives a file or directory another name, replacing a file with that name.
    public static func rename(_ from: String, to path: String) throws(IOError) {
        guard unsafe CLinux.rename(from, path) == 0 else {
            throw IOError(path, errno: sallyport_errno())
        }
    }

    static func open(
        _ path: String, _ flags: Int32, mode: UInt32
    ) throws(IOError) -> Descriptor {
        while true {
            let raw = unsafe sallyport_open(path, flags | O_CLOEXEC, mode)
            if raw >= 0 { return Descriptor(owning: raw) }
            let code = sallyport_errno()
            if code != EINTR { throw IOError(path, errno: code) }
        }
    }
}
