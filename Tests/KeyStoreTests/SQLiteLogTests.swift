import Attestation
import Foundation
import GatewayTesting
import KeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// The log of SQLite, which somebody removes from beside a registry that is in use.
@Suite("A registry whose log is removed while it is open", .timeLimit(.minutes(30)))
final class SQLiteLogTests {
    private let directory: TemporaryDirectory
    private var generator = SeededGenerator(seed: 91)

    init() throws { directory = try TemporaryDirectory() }
}

extension SQLiteLogTests {
    private func remove(_ suffix: String) throws {
        try FileManager.default.removeItem(atPath: directory.registryPath + suffix)
    }

    @Test(
        "takes what was in it into the file, and hears of what a command changes then",
        arguments: [["-wal", "-shm"], ["-wal"], ["-shm"]])
    func removed(suffixes: [String]) throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let records = try (0..<2).map { _ in try registry.enrolAny(&generator) }
        let recorder = ChangeRecorder(registry)
        for suffix in suffixes { try remove(suffix) }
        // Waits until nobody has the old log open any more, as a command does.
        let administration = try SQLiteAdministration(path: directory.registryPath)
        #expect(try administration.revoke([records[0].keyID]) == [.done])
        #expect(recorder.wait { $0.contains(.replaced) })
        // The gateway looks again and again, too.
        func status() throws -> KeyStatus? {
            while true {
                if let record = try? registry.find(records[0].keyID) { return record.status }
                _ = poll(nil, 0, 1)
            }
        }
        #expect(try status() == .revoked)
        #expect(try registry.find(records[1].keyID) == records[1].withoutReceipt)
        #expect(try administration.revoke([records[1].keyID]) == [.done])
        #expect(recorder.waitForKey(records[1].keyID))
        let late = try registry.enrolAny(&generator)
        registry.close()
        let again = try SQLiteRegistry(path: directory.registryPath)
        #expect(try again.find(records[0].keyID)?.status == .revoked)
        #expect(try again.find(late.keyID) == late.withoutReceipt)
        again.close()
    }

    @Test("is not opened by others while somebody goes on with the log that is gone")
    func heldOpen() throws {
        try SQLiteRegistry(path: directory.registryPath).close()
        do {
            let other = try Connection(path: directory.registryPath)
            _ = try other.integer("SELECT count(*) FROM keys")
            try remove("-wal")
            #expect(throws: RegistryOpenError.self) {
                try SQLiteAdministration(path: self.directory.registryPath)
            }
            #expect(!directory.names.contains("registry.db-wal"))
        }
        _ = try SQLiteAdministration(path: directory.registryPath)
    }

    @Test("does nothing any more if another log is in its place, and leaves that as it is")
    func torn() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let record = try registry.enrolAny(&generator)
        let recorder = ChangeRecorder(registry)
        let log = directory.registryPath + "-wal"
        try Data("another".utf8).write(to: URL(fileURLWithPath: log + ".new"))
        #expect(rename(log + ".new", log) == 0)
        #expect(recorder.wait { $0.contains(.replaced) })
        #expect(throws: StoreError.self) { try registry.find(record.keyID) }
        #expect(throws: StoreError.self) { try registry.probe() }
        #expect(throws: StoreError.self) {
            try registry.enrol(self.generator.record(), challenge: self.generator.bytes16())
        }
        #expect(registry.readAtHand([record.keyID]) == [.notAtHand])
        registry.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: log)) == Data("another".utf8))
    }

    @Test("does nothing any more if its log was cut short, and says so", arguments: [0, 40, 4200])
    func cutShort(byteCount: Int) throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let record = try registry.enrolAny(&generator)
        let recorder = ChangeRecorder(registry)
        let log = directory.registryPath + "-wal"
        #expect(truncate(log, off_t(byteCount)) == 0)
        // Before a write too: it would leave a hole behind the end.
        #expect(throws: StoreError.self) {
            try registry.enrol(self.generator.record(), challenge: self.generator.bytes16())
        }
        #expect(recorder.wait { $0.contains(.replaced) })
        let error = #expect(throws: StoreError.self) { try registry.find(record.keyID) }
        #expect("\(error as Any)".contains("its log (-wal) was cut short"))
        registry.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: log)).count == byteCount)
    }

    @Test("goes on if SQLite cuts the log back itself")
    func cutBack() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let administration = try SQLiteAdministration(path: directory.registryPath)
        for _ in 0..<20 {
            let record = try registry.enrolAny(&generator)
            #expect(try administration.erase([record.keyID]) == [.done])
            #expect(try registry.find(record.keyID)?.status == .erased)
        }
        registry.close()
    }

    @Test(
        "goes on by itself after its index was cut short, and has lost nothing", arguments: [0, 3])
    func indexCut(byteCount: Int) throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        var records = try (0..<2).map { _ in try registry.enrolAny(&generator) }
        #expect(truncate(directory.registryPath + "-shm", off_t(byteCount)) == 0)
        while true {
            if let record = try? registry.enrolAny(&generator) {
                records.append(record)
                break
            }
            _ = poll(nil, 0, 1)
        }
        for record in records {
            try repeatWhile((try? registry.find(record.keyID)) == nil) { _ = poll(nil, 0, 1) }
            #expect(try registry.find(record.keyID) == record.withoutReceipt)
        }
        registry.close()
        let again = try SQLiteRegistry(path: directory.registryPath)
        for record in records {
            #expect(try again.find(record.keyID) == record.withoutReceipt)
        }
        again.close()
    }
}
