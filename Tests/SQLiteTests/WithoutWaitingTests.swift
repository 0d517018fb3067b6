import CSQLite
import Foundation
import SQLite
import Testing

@Suite("Reading without waiting")
final class WithoutWaitingTests {
    private var directories: [String] = []
    private var path = ""
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

    deinit { for each in directories { try? FileManager.default.removeItem(atPath: each) } }

    /// What the system says of the file's first page when it may not wait: 0, or an errno.
    private func systemSays() -> Int32 {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        var byte: UInt8 = 0
        return sallyport_read_what_is_there(file, &byte, 1, 0) == 1 ? 0 : errno
    }

    /// Has the system forget what is in the file. False if it does not.
    private func forgetPages() -> Bool {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        fsync(file)
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)
        return systemSays() == EAGAIN
    }

    private func words(_ connection: Connection) throws -> (Int64) throws(SQLiteError) -> Int? {
        let select = try connection.prepare("SELECT word FROM t WHERE id = ?")
        return { id throws(SQLiteError) in
            defer { select.reset() }
            try select.bind(1, id)
            return try select.step() ? select.text(0)?.utf8.count : nil
        }
    }

    @Test("what the system has in memory is read, and what it has not is left")
    func disk() throws {
        let connection = try Connection(path: path)
        let word = try words(connection)
        guard systemSays() == 0 else { return }
        #expect(try connection.readWithoutWaiting { () throws(SQLiteError) in try word(7) } == 200)
        guard forgetPages() else { return }
        let cold = try Connection(path: path)
        let coldWord = try words(cold)
        // The schema was read again.
        #expect(forgetPages())
        #expect(
            try cold.readWithoutWaiting { () throws(SQLiteError) in try coldWord(1999) } == nil)
        #expect(try coldWord(1999) == 500)
        #expect(
            try cold.readWithoutWaiting { () throws(SQLiteError) in try coldWord(1999) } == 500)
    }

    @Test("if the file system does not tell, everything is read by waiting")
    func untold() throws {
        try makeDatabase(in: "/dev/shm")
        // Other systems tell of files in memory, too.
        guard systemSays() == EOPNOTSUPP else { return }
        let connection = try Connection(path: path)
        let word = try words(connection)
        let read = { () throws(SQLiteError) in
            try connection.readWithoutWaiting { () throws(SQLiteError) in try word(7) }
        }
        #expect(try read() == nil)
        #expect(try word(7) == 200)
        // That is not tried again, even if it would not read anything.
        #expect(try connection.readWithoutWaiting { () throws(SQLiteError) in 1 } == nil)
    }

    @Test("a transaction that was cut short is over, and the next read works")
    func transaction() throws {
        let connection = try Connection(path: path)
        let word = try words(connection)
        try connection.begin(.deferred)
        guard forgetPages() else { return connection.rollback() }
        #expect(
            try connection.readWithoutWaiting { () throws(SQLiteError) in try word(1000) } == nil)
        #expect(!connection.isInTransaction)
        #expect(try word(1000) == 500)
    }

    @Test("nobody waits for a lock, and whoever may wait does")
    func lock() throws {
        var options = Connection.Options()
        // Longer than a test.
        options.busyMillisecondsMax = 3_600_000
        let connection = try Connection(path: path, options: options)
        let word = try words(connection)
        let other = try Connection(path: path)
        try other.execute("BEGIN EXCLUSIVE")
        #expect(
            try connection.readWithoutWaiting { () throws(SQLiteError) in try word(7) } == nil)
        other.rollback()
        #expect(try word(7) == 200)
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
