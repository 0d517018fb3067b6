import Attestation
import EventLoop
import Foundation
import KeyStore
import SQLite
import SQLiteKeyStore
import Testing

@Suite("A registry file that cannot be used")
final class SQLiteFileTests {
    let directory: TemporaryDirectory
    var generator = SeededGenerator(seed: 23)
    var path: String { directory.registryPath }

    init() throws { directory = try TemporaryDirectory() }
}

extension SQLiteFileTests {
    private func fill(_ count: Int) throws -> [KeyRecord] {
        let records = (0..<count).map { _ in generator.record() }
        let administration = try SQLiteAdministration(path: path, createsIfMissing: true)
        let load = administration.beginImport()
        for record in records { try load.add(record) }
        _ = try load.finish()
        return records
    }

    private func refusal() -> RegistryOpenError? {
        do throws(RegistryOpenError) {
            try SQLiteRegistry(path: path).close()
            return nil
        } catch {
            return error
        }
    }

    private func contents() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }
    private func write(_ data: Data) throws { try data.write(to: URL(fileURLWithPath: path)) }

    @Test("a file with another name is refused by both, and used again when one is gone")
    func linked() throws {
        let records = try fill(3)
        let other = directory.path + "/other.db"
        #expect(link(path, other) == 0)
        for name in [path, other] {
            #expect(throws: RegistryOpenError.linked(path: name)) {
                try SQLiteRegistry(path: name).close()
            }
            #expect(throws: RegistryOpenError.linked(path: name)) {
                try SQLiteAdministration(path: name)
            }
        }
        #expect(SQLiteAdministration.hasOtherName(path: path))
        #expect(unlink(other) == 0)
        let registry = try SQLiteRegistry(path: path)
        #expect(try registry.find(records[0].keyID) == records[0].withoutReceipt)
        registry.close()
    }

    @Test("random bytes are refused and left alone", arguments: [1, 15, 100, 4096, 100_000])
    func garbage(_ byteCount: Int) throws {
        let bytes = Data((0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) })
        try write(bytes)
        switch refusal() {
        case .empty: #expect(byteCount == 1)
        case .corrupt(let named, _): #expect(named == path)
        case let other: Issue.record("\(other.map(\.description) ?? "opened")")
        }
        #expect(try contents() == bytes)
    }

    @Test("a truncated registry is refused and left alone", arguments: [0, 50, 512, 4096, 40_960])
    func truncated(_ byteCount: Int) throws {
        _ = try fill(2000)
        let bytes = try contents().prefix(byteCount)
        try write(Data(bytes))
        switch refusal() {
        case .empty: #expect(byteCount == 0)
        case .corrupt: #expect(byteCount > 0)
        case let other: Issue.record("\(other.map(\.description) ?? "opened")")
        }
        #expect(try contents() == bytes)
    }

    @Test("damage in the middle is an error of what touches it, and nothing crashes")
    func damagedMiddle() throws {
        let records = try fill(5000)
        let whole = try contents()
        // A file too long to be read whole at a start.
        var options = SQLiteRegistry.Options()
        options.checkByteCountMax = 0
        var opened: SQLiteRegistry?
        // Where the pages lie by which the ends of the table are found, it does not open.
        for first in stride(from: 20, to: 100, by: 8) where opened == nil {
            var bytes = whole
            for offset in first * 4096..<(first + 8) * 4096 {
                bytes[offset] = UInt8.random(in: 0...255, using: &generator)
            }
            try write(bytes)
            guard case .corrupt = refusal() else {
                Issue.record("a start does not see damage behind page \(first)")
                return
            }
            opened = try? SQLiteRegistry(path: path, options: options)
        }
        let registry = try #require(opened)
        var failureCount = 0
        var foundCount = 0
        for record in records {
            do {
                if try registry.find(record.keyID) == record { foundCount += 1 }
            } catch is StoreError {
                failureCount += 1
            }
        }
        #expect(failureCount > 0)
        #expect(foundCount > 0)
        #expect(foundCount + failureCount == records.count)
        registry.close()
    }

    @Test("another program's database is refused and left alone")
    func foreign() throws {
        try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
            try connection.execute("CREATE TABLE keys (a)")
        }
        let before = try contents()
        #expect(refusal() == .foreign(path: path))
        #expect(try contents() == before)
    }

    @Test("a registry of a later version is refused and left alone")
    func future() throws {
        let records = try fill(3)
        do {
            let connection = try Connection(path: path)
            try connection.execute("PRAGMA user_version = 2")
        }
        #expect(refusal() == .newerSchema(path: path, found: 2, supported: 1))
        let connection = try Connection(path: path)
        #expect(try connection.integer("SELECT count(*) FROM keys") == Int64(records.count))
        #expect(try connection.integer("PRAGMA user_version") == 2)
    }

    @Test("a registry of a version that none has is refused")
    func damagedVersion() throws {
        _ = try fill(1)
        do {
            let connection = try Connection(path: path)
            try connection.execute("PRAGMA user_version = -1")
        }
        #expect(refusal() == .corrupt(path: path, reason: "its tables have version -1"))
    }

    @Test("a file of an earlier version is checked and left as it is, until it is opened")
    func earlier() throws {
        try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
            try connection.execute("PRAGMA application_id = \(0x536C_7950)")
        }
        let version = try SQLiteAdministration.checkWhole(path: path)
        #expect(version.found == 0 && version.current == 1)
        let connection = try Connection(path: path)
        #expect(try connection.integer("PRAGMA user_version") == 0)
        #expect(try connection.integer("SELECT count(*) FROM sqlite_schema") == 0)
        try SQLiteRegistry(path: path).close()
        #expect(try connection.integer("PRAGMA user_version") == 1)
    }

    /// The other process has come first to the lock that this one waited for.
    @Test("a file that another process has brought up to date meanwhile is left alone")
    func overtaken() throws {
        _ = try fill(1)
        let connection = try Connection(path: path)
        #expect(try RegistrySchema.update(connection, from: 0) == 1)
        try connection.execute("PRAGMA user_version = 2")
        #expect(try RegistrySchema.update(connection, from: 0) == 2)
        #expect(try connection.integer("PRAGMA user_version") == 2)
    }

    @Test("a registry that lacks a table is refused")
    func missingTable() throws {
        _ = try fill(1)
        do {
            let connection = try Connection(path: path)
            try connection.execute("DROP TABLE changes")
        }
        guard case .corrupt = refusal() else {
            Issue.record("not refused as damaged")
            return
        }
    }

    @Test("a directory, a missing directory and a lost database are told apart")
    func places() throws {
        let missing = directory.path + "/none/registry.db"
        #expect(
            throws: RegistryOpenError.directory(
                path: directory.path + "/none", reason: "No such file or directory")
        ) { try SQLiteRegistry(path: missing) }
        #expect(throws: RegistryOpenError.notAFile(path: directory.path)) {
            try SQLiteRegistry(path: self.directory.path)
        }
        #expect(throws: RegistryOpenError.missing(path: path)) {
            try SQLiteAdministration(path: self.path)
        }
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path + "-wal"))
        #expect(refusal() == .strayLog(path: path + "-wal"))
        #expect(directory.names == ["registry.db-wal"])
    }

    @Test("a file or a directory that may not be written is refused with the reason")
    func readOnly() throws {
        let records = try fill(3)
        let manager = FileManager.default
        for (fileMode, directoryMode) in [(0o444, 0o755), (0o666, 0o555), (0o000, 0o755)] {
            try manager.setAttributes([.posixPermissions: fileMode], ofItemAtPath: path)
            try manager.setAttributes(
                [.posixPermissions: directoryMode], ofItemAtPath: directory.path)
            let path = path
            let refusal = Reply<RegistryOpenError?>()
            let thread = try EventLoop::Thread.spawn(name: "nobody") {
                guard becomeNobody() else { return refusal.give(nil) }
                do throws(RegistryOpenError) {
                    try SQLiteRegistry(path: path).close()
                    refusal.give(nil)
                } catch {
                    refusal.give(error)
                }
            }
            let error = refusal.wait() ?? nil
            thread.join()
            switch error {
            case .readOnly, .unreadable: break
            case let other:
                Issue.record("\(fileMode) \(directoryMode): \(other.map(\.description) ?? "-")")
            }
        }
        try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        try manager.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let registry = try SQLiteRegistry(path: path)
        for record in records { #expect(try registry.find(record.keyID) == record) }
        registry.close()
    }

    @Test("one flipped byte in the head of any page is found at a start, and changes nothing")
    func flippedBytes() throws {
        _ = try fill(400)
        let whole = try contents()
        for page in 1..<(whole.count / 4096) {
            var bytes = whole
            bytes[page * 4096 + Int.random(in: 0..<8, using: &generator)] ^= 0xFF
            try write(bytes)
            switch refusal() {
            case .corrupt, nil: break
            case let other?: Issue.record("page \(page): \(other)")
            }
            if bytes[page * 4096] != whole[page * 4096] {
                #expect(refusal() != nil, "page \(page)")
            }
            #expect(try contents() == bytes)
        }
    }

    @Test("an empty file beside a log is refused, and both are left alone")
    func emptyBesideLog() throws {
        let registry = try SQLiteRegistry(path: path)
        _ = try registry.enrol(generator.record(), challenge: generator.bytes16())
        let copy = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: path + "-wal", toPath: copy.registryPath + "-wal")
        registry.close()
        let log = try Data(contentsOf: URL(fileURLWithPath: copy.registryPath + "-wal"))
        #expect(!log.isEmpty)
        try Data().write(to: URL(fileURLWithPath: copy.registryPath))
        #expect(throws: RegistryOpenError.empty(path: copy.registryPath)) {
            try SQLiteRegistry(path: copy.registryPath)
        }
        #expect(throws: RegistryOpenError.empty(path: copy.registryPath)) {
            try SQLiteAdministration(path: copy.registryPath, createsIfMissing: true)
        }
        #expect(copy.names == ["registry.db", "registry.db-wal"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: copy.registryPath)).isEmpty)
        #expect(try Data(contentsOf: URL(fileURLWithPath: copy.registryPath + "-wal")) == log)
    }

    @Test("a log that is cut or damaged costs what it held behind that, and is no new registry")
    func damagedLog() throws {
        let records = try fill(10)
        let registry = try SQLiteRegistry(path: path)
        for _ in 0..<20 {
            _ = try registry.enrol(generator.record(), challenge: generator.bytes16())
        }
        for kind in ["cut", "flipped"] {
            let copy = try TemporaryDirectory()
            try FileManager.default.copyItem(atPath: path, toPath: copy.registryPath)
            var log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
            if kind == "cut" { log = log.prefix(log.count / 2) } else { log[log.count / 2] ^= 0xFF }
            try log.write(to: URL(fileURLWithPath: copy.registryPath + "-wal"))
            let again = try SQLiteRegistry(path: copy.registryPath)
            for record in records { #expect(try again.find(record.keyID) == record) }
            again.close()
        }
        registry.close()
    }

    @Test("a closed registry is one file")
    func closed() throws {
        // Many, as one of four or so kept its log.
        for _ in 0..<40 {
            let directory = try TemporaryDirectory()
            let registry = try SQLiteRegistry(path: directory.registryPath)
            let record = generator.record()
            #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
            registry.close()
            #expect(directory.names == ["registry.db"])
        }
    }

    @Test("a log left by a killed process is read back")
    func killed() throws {
        let records = try fill(10)
        let registry = try SQLiteRegistry(path: path)
        let late = generator.record()
        #expect(try registry.enrol(late, challenge: generator.bytes16()) == .enrolled)
        // What a killed process leaves: both files as they are while it runs.
        let copy = try TemporaryDirectory()
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: path + suffix, toPath: copy.registryPath + suffix)
        }
        registry.close()
        let again = try SQLiteRegistry(path: copy.registryPath)
        for record in records + [late] { #expect(try again.find(record.keyID) == record) }
        again.close()
    }
}

/// Gives the calling thread no rights to files beyond anyone's: root may write everything.
private func becomeNobody() -> Bool {
    guard geteuid() == 0 else { return true }
    typealias SetUser = @convention(c) (uid_t) -> Int32
    guard let symbol = dlsym(nil, "setfsuid") else { return false }
    _ = unsafeBitCast(symbol, to: SetUser.self)(65534)
    return true
}
