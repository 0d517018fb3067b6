import Foundation
import GatewayTesting
import SQLite
import Testing

/// What readers do to the index of the log, which nobody can change while its file system is
/// frozen.
@Suite("Readers and the index of the log", .timeLimit(.minutes(30)))
final class FrozenLogTests {
    private let directory: ScratchDirectory
    private var files: [Int32] = []

    init() throws { directory = try ScratchDirectory() }

    deinit { for each in files { close(each) } }
}

extension FrozenLogTests {
    private func makeDatabase(_ path: String) throws {
        try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
            try connection.execute("CREATE TABLE t (word TEXT) STRICT")
            try connection.execute("INSERT INTO t VALUES ('first')")
        }
    }

    private func connect(_ path: String) throws -> Connection {
        let connection = try Connection(path: path)
        #expect(try connection.enableWriteAheadLog())
        return connection
    }

    private static let question = "SELECT word FROM t"

    /// The marks of the five readers. Closing the file would drop the locks of the process, so it
    /// stays open as long as the test.
    private func marks(_ path: String) -> [UInt8] {
        if files.isEmpty { files.append(open(path + "-shm", O_RDWR)) }
        var bytes = [UInt8](repeating: 0, count: 20)
        #expect(pread(files[0], &bytes, 20, 100) == 20)
        return bytes
    }

    @Test("a reader in a hurry and a sparing one read what is new without a mark of their own")
    func marks() throws {
        let path = directory.path(of: "a.db")
        try makeDatabase(path)
        let writer = try connect(path)
        let reader = try connect(path)
        try writer.execute("UPDATE t SET word = 'second'")
        let before = marks(path)
        if reader.canReadWithoutWaiting {
            let word = try reader.readWithoutWaiting { () throws(SQLiteError) in
                try reader.text(Self.question)
            }
            #expect(word == "second")
        }
        try writer.execute("UPDATE t SET word = 'third'")
        let written = marks(path)
        let word = try reader.readSparingly { () throws(SQLiteError) in
            try reader.text(Self.question)
        }
        #expect(word == "third")
        #expect(marks(path) == written)
        #expect(written != before)
        // An ordinary reader makes one.
        #expect(try reader.text(Self.question) == "third")
        #expect(marks(path) != written)
    }

    @Test("a sparing reader that finds no mark at all makes one, and one in a hurry gives up")
    func noMark() throws {
        let path = directory.path(of: "a.db")
        try makeDatabase(path)
        let writer = try connect(path)
        let reader = try connect(path)
        try writer.execute("UPDATE t SET word = 'second'")
        _ = marks(path)
        let none = [UInt8](repeating: 0xFF, count: 16)
        #expect(pwrite(files[0], none, 16, 104) == 16)
        let hurried = try reader.readWithoutWaiting { () throws(SQLiteError) in
            try reader.text(Self.question)
        }
        #expect(hurried == nil)
        let word = try reader.readSparingly { () throws(SQLiteError) in
            try reader.text(Self.question)
        }
        #expect(word == "second")
    }

    @Test(
        "both read on while the file system is frozen, and a write is done when it is thawed",
        .enabled(if: LoopFileSystem.isAllowed(), Comment(rawValue: LoopFileSystem.needs)))
    func frozen() throws {
        let disk = try LoopFileSystem()
        let path = disk.path + "/a.db"
        try makeDatabase(path)
        do {
            let writer = try connect(path)
            let reader = try connect(path)
            try writer.execute("UPDATE t SET word = 'second'")
            try disk.freeze()
            let hurried = try reader.readWithoutWaiting { () throws(SQLiteError) in
                try reader.text(Self.question)
            }
            #expect(hurried == "second")
            let sparing = try reader.readSparingly { () throws(SQLiteError) in
                try reader.text(Self.question)
            }
            #expect(sparing == "second")
            let isDone = DispatchSemaphore(value: 0)
            let box = Handed(writer)
            let thread = Foundation.Thread {
                try? box.connection.execute("UPDATE t SET word = 'third'")
                isDone.signal()
            }
            thread.start()
            #expect(isDone.wait(timeout: .now() + .milliseconds(200)) == .timedOut)
            // Nothing of the process stands still with it: memory can be mapped.
            let memory = mmap(
                nil, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            #expect(memory != MAP_FAILED)
            munmap(memory, 1 << 20)
            disk.thaw()
            isDone.wait()
            #expect(try reader.text(Self.question) == "third")
        }
    }
}

/// Used by one thread at a time.
private final class Handed: @unchecked Sendable {
    let connection: Connection
    init(_ connection: Connection) { self.connection = connection }
}
