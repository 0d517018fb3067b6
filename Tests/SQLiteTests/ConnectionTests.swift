import Bytes
import Foundation
import SQLite
import Testing

@Suite("The SQLite fence")
final class ConnectionTests {
    let directory: String

    init() throws {
        directory = NSTemporaryDirectory() + "sqlite-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }
}

extension ConnectionTests {
    private func database(_ name: String = "a.db") throws -> Connection {
        let path = "\(directory)/\(name)"
        try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
            try connection.execute(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT, bytes BLOB) STRICT")
        }
        let connection = try Connection(path: path)
        #expect(try connection.enableWriteAheadLog())
        return connection
    }

    @Test("values come back as they were bound")
    func roundTrip() throws {
        let connection = try database()
        let insert = try connection.prepare("INSERT INTO t VALUES (?, ?, ?)")
        let digest = try #require(Bytes32([UInt8](0..<32)))
        try insert.bind(1, Int64.min)
        try insert.bind(2, text: "")
        try insert.bind(3, blob: digest)
        try insert.run()
        try insert.bind(1, Int64.max)
        try insert.bind(2, text: "naïve\u{0}π")
        try insert.bind(3, blob: [])
        try insert.run()

        let select = try connection.prepare("SELECT id, word, bytes FROM t ORDER BY id")
        #expect(try select.step())
        #expect(select.integer(0) == Int64.min)
        #expect(select.text(1) == "")
        #expect(select.bytes32(2) == digest)
        #expect(try select.step())
        #expect(select.text(1) == "naïve\u{0}π")
        #expect(select.blob(2) == [])
        #expect(select.bytes32(2) == nil)
        #expect(try !select.step())
        select.reset()
    }

    @Test("sixteen bytes bind as a blob of sixteen")
    func sixteenBytes() throws {
        let connection = try database()
        let insert = try connection.prepare("INSERT INTO t (bytes) VALUES (?)")
        try insert.bind(1, blob: Bytes16(word0: 0x0102, word1: 3))
        try insert.run()
        let select = try connection.prepare("SELECT bytes FROM t")
        #expect(try select.step())
        #expect(select.blob(0) == [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3])
    }

    @Test("a transaction that fails leaves nothing behind")
    func rollsBack() throws {
        let connection = try database()
        #expect(throws: SQLiteError.self) {
            try connection.transaction(.immediate) { () throws(SQLiteError) in
                try connection.execute("INSERT INTO t (id) VALUES (1)")
                try connection.execute("INSERT INTO t (id) VALUES (1)")
            }
        }
        #expect(!connection.isInTransaction)
        #expect(try connection.integer("SELECT count(*) FROM t") == 0)
    }

    @Test("a lock held by another connection is reported as busy")
    func busy() throws {
        let first = try database()
        var options = Connection.Options()
        options.busyMillisecondsMax = 5
        let second = try Connection(path: first.path, options: options)
        try first.begin(.immediate)
        let error = #expect(throws: SQLiteError.self) { try second.begin(.immediate) }
        #expect(error?.isBusy == true)
        try first.commit()
        try second.begin(.immediate)
        second.rollback()
    }

    @Test("a file at its limit is reported as full, and reading goes on")
    func full() throws {
        let path = try database().path
        var options = Connection.Options()
        options.byteCountMax = 64 * 1024
        let connection = try Connection(path: path, options: options)
        let error = #expect(throws: SQLiteError.self) {
            for _ in 0..<100 {
                try connection.execute("INSERT INTO t (bytes) VALUES (randomblob(4000))")
            }
        }
        #expect(error?.isFull == true)
        #expect(try connection.integer("SELECT count(*) FROM t") ?? 0 > 5)
    }

    @Test("random bytes are no database")
    func garbage() throws {
        let path = "\(directory)/garbage.db"
        try Data((0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 131 >> 3) })
            .write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: SQLiteError.self) {
            _ = try Connection(path: path).integer("SELECT count(*) FROM sqlite_schema")
        }
        #expect(error?.isNotADatabase == true)
        #expect(error?.isCorrupt == true)
    }

    @Test("a missing file is not created by opening it")
    func missing() throws {
        let path = "\(directory)/missing.db"
        let error = #expect(throws: SQLiteError.self) { _ = try Connection(path: path) }
        #expect(error?.cannotOpen == true)
        #expect(DatabaseFile.content(at: path) == .missing)
    }

    @Test("a new database appears whole or not at all")
    func creation() throws {
        let path = "\(directory)/new.db"
        #expect(throws: DatabaseFileError.self) {
            try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
                try connection.execute("CREATE TABLE good (a)")
                try connection.execute("nonsense")
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
            try connection.execute("CREATE TABLE first (a)")
        }
        try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
            try connection.execute("CREATE TABLE second (a)")
        }
        #expect(try Connection(path: path).text("SELECT name FROM sqlite_schema") == "first")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["new.db"])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test("no new database is made beside the log of a lost one, nor in a missing directory")
    func refusesCreation() throws {
        let path = "\(directory)/lost.db"
        try Data([1, 2]).write(to: URL(fileURLWithPath: path + "-wal"))
        #expect(throws: DatabaseFileError.strayLog(path: path + "-wal")) {
            try DatabaseFile.create(path: path) { _ in }
        }
        #expect(
            throws: DatabaseFileError.directory(
                path: "\(directory)/none", reason: "No such file or directory")
        ) {
            try DatabaseFile.create(path: "\(directory)/none/a.db") { _ in }
        }
    }

    @Test("a replaced file is noticed")
    func moved() throws {
        let connection = try database()
        #expect(!connection.fileHasMoved)
        try FileManager.default.moveItem(atPath: connection.path, toPath: connection.path + "2")
        #expect(connection.fileHasMoved)
    }
}
