import Foundation
import GatewayTesting
import SQLite
import Testing

@Suite("Reading without waiting")
final class WithoutWaitingTests {
    private var directories: [String] = []
    private var path = ""
    private var files: [Int32] = []
    private static let rowCount: Int64 = 2000

    init() throws { try makeDatabase(in: NSTemporaryDirectory()) }

    private func makeDatabase(in folder: String) throws {
        let directory = "\(folder)/sqlite-\(UUID().uuidString)"
        directories.append(directory)
        path = "\(directory)/a.db"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
            try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT) STRICT")
            let insert = try connection.prepare("INSERT INTO t VALUES (?, ?)")
            try connection.transaction(.immediate) { () throws(SQLiteError) in
                for id in 0..<Self.rowCount {
                    try insert.bind(1, id)
                    try insert.bind(2, text: String(repeating: "\(id) ", count: 100))
                    try insert.run()
                }
            }
        }
    }

    deinit {
        for each in files { close(each) }
        for each in directories { try? FileManager.default.removeItem(atPath: each) }
    }
}

extension WithoutWaitingTests {
    /// Opens the file by itself for as long as the test runs: to close it would take away the locks
    /// of all connections to it (fcntl(2)).
    private func openFile(_ suffix: String = "") -> Int32 {
        let file = open(path + suffix, O_RDWR)
        files.append(file)
        return file
    }

    /// Has the system forget what is in the file.
    private func forgetPages(_ file: Int32) {
        fsync(file)
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)
    }

    /// How long the words of a connection are.
    private struct Words {
        private let connection: Connection
        private let select: Statement

        init(_ connection: Connection) throws {
            self.connection = connection
            select = try connection.prepare("SELECT word FROM t WHERE id = ?")
        }

        /// Nil without that row.
        func count(_ id: Int64) throws(SQLiteError) -> Int? {
            defer { select.reset() }
            try select.bind(1, id)
            return try select.step() ? select.text(0)?.utf8.count : nil
        }

        /// Nil where it would have had to wait.
        func countWithoutWaiting(_ id: Int64) throws(SQLiteError) -> Int?? {
            try connection.readWithoutWaiting { () throws(SQLiteError) in try count(id) }
        }
    }

    @Test(
        "what the system has in memory is read, and what it has not is left",
        .enabled(if: SystemMemory.isTold))
    func disk() throws {
        let connection = try Connection(path: path)
        let words = try Words(connection)
        #expect(try words.countWithoutWaiting(7) == 200)
        forgetPages(openFile())
        #expect(try words.countWithoutWaiting(1999) == nil)
        #expect(try words.count(1999) == 500)
        #expect(try words.countWithoutWaiting(1999) == 500)
    }

    @Test(
        "what was written last is read from the log, if that is in memory",
        .enabled(if: SystemMemory.isTold))
    func log() throws {
        let writer = try Connection(path: path)
        #expect(try writer.enableWriteAheadLog())
        let connection = try Connection(path: path)
        let words = try Words(connection)
        try writer.execute("UPDATE t SET word = 'a'")
        #expect(try words.countWithoutWaiting(1999) == 1)
        try writer.execute("UPDATE t SET word = 'ab'")
        forgetPages(openFile("-wal"))
        #expect(try words.countWithoutWaiting(1999) == nil)
        #expect(try words.count(1999) == 2)
        #expect(try words.countWithoutWaiting(1999) == 2)
    }

    @Test("where the file seems to end in a hurry, nothing is made up")
    func end() throws {
        let file = openFile()
        // Inside the last page, which SQLite would fill up with zeros.
        #expect(ftruncate(file, lseek(file, 0, SEEK_END) - 2048) == 0)
        let connection = try Connection(path: path)
        let words = try Words(connection)
        let hurried = try words.countWithoutWaiting(1999)
        #expect(hurried == .none)
        // Whoever has time is told that there is no such row.
        #expect(try words.count(1999) == nil)
    }

    @Test("if the file system does not tell, everything is read by waiting")
    func untold() throws {
        guard !SystemMemory.isTold(in: "/dev/shm") else { return }
        try makeDatabase(in: "/dev/shm")
        let connection = try Connection(path: path)
        let words = try Words(connection)
        #expect(connection.canReadWithoutWaiting)
        #expect(try words.countWithoutWaiting(7) == nil)
        #expect(try words.count(7) == 200)
        #expect(!connection.canReadWithoutWaiting)
    }

    @Test("a transaction that was cut short is over, and the next read works")
    func transaction() throws {
        let connection = try Connection(path: path)
        let words = try Words(connection)
        forgetPages(openFile())
        try connection.begin(.deferred)
        #expect(try words.countWithoutWaiting(1000) == nil)
        #expect(!connection.isInTransaction)
        #expect(try words.count(1000) == 500)
    }

    @Test("nobody pauses for a writer that stands still in the middle of its word")
    func pause() throws {
        let writer = try Connection(path: path)
        #expect(try writer.enableWriteAheadLog())
        try writer.execute("UPDATE t SET word = 'a' WHERE id = 7")
        let connection = try Connection(path: path)
        let words = try Words(connection)
        #expect(try words.count(7) == 1)
        try writer.begin(.immediate)
        // The log's index begins with two copies of one header.
        let index = openFile("-shm")
        var change: UInt8 = 0
        #expect(pread(index, &change, 1, 8) == 1)
        change ^= 1
        #expect(pwrite(index, &change, 1, 8) == 1)
        // SQLite would try for ten seconds, and say then that the protocol is broken.
        #expect(try words.countWithoutWaiting(7) == nil)
        change ^= 1
        #expect(pwrite(index, &change, 1, 8) == 1)
        writer.rollback()
        #expect(try words.count(7) == 1)
    }

    @Test("nobody waits for a lock, and whoever may wait does")
    func lock() throws {
        var options = Connection.Options()
        // Longer than a test.
        options.busyMillisecondsMax = 3_600_000
        let connection = try Connection(path: path, options: options)
        let words = try Words(connection)
        let other = try Connection(path: path)
        try other.execute("BEGIN EXCLUSIVE")
        #expect(try words.countWithoutWaiting(7) == nil)
        other.rollback()
        #expect(try words.count(7) == 200)
    }

    @Test("an error of another kind is thrown")
    func failure() throws {
        let connection = try Connection(path: path)
        #expect(throws: SQLiteError.self) {
            try connection.readWithoutWaiting { () throws(SQLiteError) in
                try connection.execute("SELECT nothing")
            }
        }
    }
}
