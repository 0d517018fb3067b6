import Bytes
import EventLoop
import Foundation
import Glibc
import Testing

@Suite("A file")
struct FileTests {}

extension FileTests {
    @Test("is read whole, up to a bound")
    func read() throws {
        let directory = try TestDirectory()
        let path = directory.path("key")
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        try File.write(path, bytes, mode: 0o600)
        #expect(try File.read(path, byteCountMax: 100_000) == bytes)
        #expect(throws: IOError(path, .tooLarge(byteCountMax: 99_999))) {
            try File.read(path, byteCountMax: 99_999)
        }
        try File.write(path, [], mode: 0o600)
        #expect(try File.read(path, byteCountMax: 0) == [])
    }

    @Test("that is a pipe is read to its end, and is empty if nobody writes to it")
    func pipe() throws {
        let directory = try TestDirectory()
        let path = directory.path("fifo")
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try File.read(path, byteCountMax: 10) == [])
        let pipe = Pipe()
        let number = pipe.fileHandleForReading.fileDescriptor
        try pipe.fileHandleForWriting.write(contentsOf: Data([1, 2, 3]))
        try pipe.fileHandleForWriting.close()
        #expect(try File.read("/dev/fd/\(number)", byteCountMax: 10) == [1, 2, 3])
    }

    @Test("that cannot be read says why")
    func unreadable() throws {
        let directory = try TestDirectory()
        let missing = directory.path("none")
        let error = #expect(throws: IOError(missing, .notFound)) {
            try File.read(missing, byteCountMax: 1)
        }
        #expect(error?.description == "\(missing): no such file or directory")
        #expect(throws: IOError(directory.root, .isDirectory)) {
            try File.read(directory.root, byteCountMax: 1)
        }
        #expect(throws: IOError("/proc/1/mem/x", .notFound)) {
            try File.read("/proc/1/mem/x", byteCountMax: 1)
        }
    }

    @Test("is replaced as a whole, with its mode, leaving nothing behind")
    func write() throws {
        let directory = try TestDirectory()
        let path = directory.path("secret")
        try File.write(path, [1, 2], mode: 0o600)
        try File.write(path, [3], mode: 0o644)
        #expect(try File.read(path, byteCountMax: 10) == [3])
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o644)
        // Over a directory the last step fails, and takes the temporary file with it.
        #expect(throws: IOError.self) { try File.write(directory.root, [1], mode: 0o600) }
        #expect(throws: IOError(directory.path("no/x"), .notFound)) {
            try File.write(directory.path("no/x"), [1], mode: 0o600)
        }
        #expect(try directory.names == ["secret"])
    }

    @Test("that is a device is written to, and stays one")
    func device() throws {
        let directory = try TestDirectory()
        let path = directory.path("null")
        // The numbers of the device that takes everything (null(4)). Only root may make one.
        guard mknod(path, S_IFCHR | 0o666, 0x103) == 0 else {
            return #expect(errno == EPERM)
        }
        let before = try #require(File.inode(path))
        do throws(IOError) {
            try File.write(path, [1, 2, 3], mode: 0o600)
        } catch {
            // A file system that is mounted without devices opens none.
            try #require(error.reason == .permissionDenied, "\(error)")
        }
        #expect(File.inode(path) == before)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFCHR && status.st_mode & 0o777 != 0o600)
        #expect(try directory.names == ["null"])
    }

    @Test("that is a pipe is written to, as far as somebody reads")
    func writtenPipe() throws {
        let directory = try TestDirectory()
        let path = directory.path("fifo")
        #expect(mkfifo(path, 0o644) == 0)
        #expect(throws: IOError(path, errno: ENXIO)) { try File.write(path, [1], mode: 0o600) }
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        try File.write(path, [1, 2, 3], mode: 0o600)
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(Glibc.read(reader, &bytes, 8) == 3 && bytes.prefix(3) == [1, 2, 3])
        // By the name that the system has for an open descriptor, too: a link like /dev/stdout.
        let pipe = Pipe()
        let number = pipe.fileHandleForWriting.fileDescriptor
        try File.write("/proc/self/fd/\(number)", [4, 5], mode: 0o600)
        #expect(try pipe.fileHandleForReading.read(upToCount: 2) == Data([4, 5]))
        #expect(try directory.names == ["fifo"])
    }

    @Test("that is a link to a file is replaced, and what it leads to stays as it was")
    func writtenLink() throws {
        let directory = try TestDirectory()
        let path = directory.path("link")
        try File.write(directory.path("file"), [1], mode: 0o600)
        #expect(symlink(directory.path("file"), path) == 0)
        try File.write(path, [2], mode: 0o600)
        #expect(try File.read(directory.path("file"), byteCountMax: 1) == [1])
        #expect(try File.read(path, byteCountMax: 1) == [2])
    }

    @Test("is appended to by its own descriptor")
    func append() throws {
        let directory = try TestDirectory()
        let path = directory.path("access.log")
        for number: UInt8 in 1...3 {
            let log = try File.openAppending(path)
            #expect(File.append(log.raw, [number].span) == .bytes(1))
        }
        #expect(try File.read(path, byteCountMax: 10) == [1, 2, 3])
        try File.remove(path)
        #expect(!File.exists(path))
        #expect(throws: IOError(path, .notFound)) { try File.remove(path) }
    }

    @Test("on a full disk is told from other failures")
    func full() throws {
        let log = try File.openAppending("/dev/full")
        guard case .failed(let code) = File.append(log.raw, [1].span) else {
            Issue.record("written to a full device")
            return
        }
        #expect(IOError.Reason(errno: code) == .diskFull)
    }

    @Test("that locks is held by one owner until that one goes")
    func lock() throws {
        let directory = try TestDirectory()
        let path = directory.path("lock")
        do {
            let held = try FileLock(path: path)
            let error = #expect(throws: IOError(path, .locked)) { _ = try FileLock(path: path) }
            #expect(error?.description == "\(path): held by another process")
            _ = consume held
        }
        _ = try FileLock(path: path)
    }

    /// A descriptor of the same open file, as a child has until it runs its own program.
    private func copyOfDescriptor(of path: String) throws -> Int32 {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let descriptor = descriptors.first { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\(name)")
            return target == path
        }
        return dup(try #require(descriptor.flatMap { Int32($0) }))
    }

    @Test("that locks is free once its owner goes, though a child that starts has its descriptor")
    func lockOfChild() throws {
        let directory = try TestDirectory()
        let path = directory.path("lock")
        var copy: Int32 = -1
        do {
            let held = try FileLock(path: path)
            copy = try copyOfDescriptor(of: path)
            _ = consume held
        }
        defer { close(copy) }
        _ = try FileLock(path: path)
    }

    @Test("that was locked to be read is free likewise")
    func readLockOfChild() throws {
        let directory = try TestDirectory()
        let path = directory.path("lock")
        try Data().write(to: URL(fileURLWithPath: path))
        var copy: Int32 = -1
        do {
            let held = try RegularFile(path)
            try held.lock()
            copy = try withExtendedLifetime(held) { try copyOfDescriptor(of: path) }
        }
        defer { close(copy) }
        try RegularFile(path).lock()
    }

    @Test("that its process made is free likewise")
    func ownedFileOfChild() throws {
        let directory = try TestDirectory()
        let path = directory.path("owned")
        var copy: Int32 = -1
        do {
            let held = try OwnedFile(path: path, draft: directory.path("draft"))
            try held.publish()
            copy = try withExtendedLifetime(held) { try copyOfDescriptor(of: path) }
        }
        defer { close(copy) }
        try RegularFile(path).lock()
    }
}

@Suite("A temporary file")
struct TemporaryFileTests {}

extension TemporaryFileTests {
    @Test("gives back what was appended, from any place, and has no name")
    func readBack() throws {
        let directory = try TestDirectory()
        var file = try TemporaryFile(directory: directory.root)
        let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for start in stride(from: 0, to: bytes.count, by: 1000) {
            try file.append(bytes.span.extracting(start..<start + 1000))
        }
        try file.append([UInt8]().span)
        try file.makeResident(0..<10_000)
        let byteCount = file.byteCount
        #expect(byteCount == 10_000)
        #expect(try directory.names == [])
        var buffer = ByteBuffer()
        var offset = 0
        while true {
            let count = try file.content.read(at: offset, into: &buffer, atMost: 333)
            if count == 0 { break }
            offset += count
        }
        let received = buffer.readable.array
        #expect(received == bytes)
        buffer.clear()
        let tailCount = try file.content.read(at: 9_990, into: &buffer, atMost: 100)
        #expect(tailCount == 10)
    }

    @Test("names the directory where it cannot be made")
    func missing() throws {
        let directory = try TestDirectory()
        let path = directory.path("none")
        #expect(throws: IOError(path, .notFound)) { _ = try TemporaryFile(directory: path) }
        let plain = directory.path("plain")
        try File.write(plain, [], mode: 0o600)
        #expect(throws: IOError(plain, .notFound)) { _ = try TemporaryFile(directory: plain) }
    }
}
