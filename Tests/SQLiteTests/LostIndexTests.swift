import Foundation
import GatewayTesting
import SQLite
import Testing

/// The index of the log is memory that the system may fail to bring, which sends SIGBUS.
@Suite("A log's index that cannot be read or written", .timeLimit(.minutes(30)))
final class LostIndexTests {
    private let directory: ScratchDirectory
    private let path: String

    init() throws {
        directory = try ScratchDirectory()
        path = directory.path(of: "a.db")
        try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
            try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT) STRICT")
        }
    }
}

extension LostIndexTests {
    private func connect() throws -> Connection {
        let connection = try Connection(path: path)
        #expect(try connection.enableWriteAheadLog())
        return connection
    }

    /// Committed and acknowledged.
    private func insert(_ id: Int, _ connection: Connection) throws {
        try connection.transaction(.immediate) { () throws(SQLiteError) in
            try connection.execute("INSERT INTO t VALUES (\(id), hex(randomblob(1500)))")
        }
    }

    private func cut(to byteCount: Int) { #expect(truncate(path + "-shm", off_t(byteCount)) == 0) }

    private func ids(_ connection: Connection) throws -> [Int64] {
        let select = try connection.prepare("SELECT id FROM t ORDER BY id")
        var ids: [Int64] = []
        while try select.step() { ids.append(select.integer(0)) }
        return ids
    }

    /// What another process with another SQLite says: `ok`, and the ids.
    private func otherProcess() throws -> String {
        let script = """
            import sqlite3, sys
            database = sqlite3.connect(sys.argv[1])
            print(database.execute("PRAGMA integrity_check").fetchone()[0],
                  [row[0] for row in database.execute("SELECT id FROM t ORDER BY id")])
            """
        let outcome = try ChildProcess.run(PythonInterpreter.debian.path, ["-c", script, path])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        return "\(outcome.standardOutput)".trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test("fails reads and writes, and all that was acknowledged is there after opening again")
    func cutShort() throws {
        do {
            let connections = try [connect(), connect()]
            for id in 0..<20 { try insert(id, connections[id % 2]) }
            cut(to: 0)
            #expect(throws: SQLiteError.self) { try ids(connections[0]) }
            #expect(connections.map(\.isIndexLost) == [true, true])
            #expect(throws: SQLiteError.self) { try insert(20, connections[1]) }
            #expect(throws: SQLiteError.self) { try ids(connections[1]) }
            // SQLite has one map for all connections to a file.
            #expect(throws: SQLiteError.self) { try connect() }
            for connection in connections { connection.leaveLogAlone() }
        }
        let connection = try connect()
        #expect(try ids(connection) == Array(0..<20))
        try insert(20, connection)
        #expect(try otherProcess() == "ok \(Array(0...20))")
    }

    @Test("leaves the outcome of a commit unknown, and never half of it done")
    func commit() throws {
        for byteCount in [0, 3, 4096, 16384] {
            var acknowledged: [Int64] = []
            do {
                let connection = try connect()
                for id in (0..<3).map({ byteCount * 10 + $0 }) {
                    try insert(id, connection)
                }
                acknowledged = try ids(connection)
                try connection.begin(.immediate)
                for id in 3..<6 {
                    try connection.execute(
                        "INSERT INTO t VALUES (\(byteCount * 10 + id), hex(randomblob(1500)))")
                }
                cut(to: byteCount)
                #expect(throws: SQLiteError.self) { try connection.commit() }
                connection.rollback()
                #expect(connection.isIndexLost)
                connection.leaveLogAlone()
            }
            let connection = try connect()
            let found = try ids(connection)
            let whole = acknowledged + (3..<6).map { Int64(byteCount * 10 + $0) }
            #expect([acknowledged, whole].contains(found), "cut to \(byteCount)")
            #expect(try otherProcess() == "ok \(found)")
        }
    }

    /// Another process goes on with the index, of which only this one has lost its view: a full
    /// btrfs does that. It inserts a row for each line that it reads.
    private func startNeighbour() throws -> (process: ChildProcess, input: FileHandle) {
        let pipe = directory.path(of: "pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let script = """
            import sqlite3, sys
            database = sqlite3.connect(sys.argv[1], isolation_level=None)
            database.execute("PRAGMA wal_autocheckpoint = 7")
            for line in open(sys.argv[2], buffering=1):
                database.execute("INSERT INTO t VALUES (?, hex(randomblob(1500)))", (int(line),))
                print("done", line, end="", flush=True)
            """
        let process = try ChildProcess(PythonInterpreter.debian.path, ["-c", script, path, pipe])
        // Both ways, so that it is open at once.
        return (process, try FileHandle(forUpdating: URL(fileURLWithPath: pipe)))
    }

    @Test("harms no other process that still has it", arguments: [false, true])
    func neighbour(afterInsert: Bool) throws {
        var acknowledged: Set<Int64> = []
        var unknown: Set<Int64> = []
        let neighbour = try startNeighbour()
        func tell(_ id: Int64) throws {
            try neighbour.input.write(contentsOf: Data("\(id)\n".utf8))
            try neighbour.process.waitForLine(on: .standardOutput) { $0 == "done \(id)" }
            acknowledged.insert(id)
        }
        for round in 0..<12 {
            let first = Int64(round * 100)
            let connection = try connect()
            try connection.execute("PRAGMA wal_autocheckpoint = 5")
            for id in first..<first + 4 {
                try insert(Int(id), connection)
                acknowledged.insert(id)
            }
            try tell(first + 10)
            if !afterInsert { #expect(try MappedIndex.fail(path + "-shm")) }
            do throws(SQLiteError) {
                try connection.begin(.immediate)
                unknown.insert(first + 20)
                try connection.execute(
                    "INSERT INTO t VALUES (\(first + 20), hex(randomblob(1500)))")
                if afterInsert {
                    #expect((try? MappedIndex.fail(path + "-shm")) == true)
                }
                try connection.commit()
                Issue.record("a commit was acknowledged")
            } catch {
                connection.rollback()
            }
            try tell(first + 30)
            connection.leaveLogAlone()
        }
        try tell(100_000)
        let connection = try connect()
        let found = Set(try ids(connection))
        #expect(acknowledged.subtracting(found).isEmpty)
        #expect(found.subtracting(acknowledged).isSubset(of: unknown))
        #expect(try otherProcess() == "ok \(found.sorted())")
        neighbour.process.kill()
    }
}
