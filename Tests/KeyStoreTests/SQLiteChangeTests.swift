import Attestation
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import SQLite
import SQLiteKeyStore
import Testing

@Suite("Changes in the registry")
final class SQLiteChangeTests {
    let directory: TemporaryDirectory
    var generator = SeededGenerator(seed: 11)

    init() throws { directory = try TemporaryDirectory() }
}

extension SQLiteChangeTests {
    @Test("another connection's revocation and erasure are named to those who cache")
    func named() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let records = (0..<3).map { _ in generator.record() }
        for record in records { _ = try registry.enrol(record, challenge: generator.bytes16()) }
        let administration = try SQLiteAdministration(path: directory.registryPath)
        for keyID in [records[0].keyID, records[1].keyID] {
            let change = Reply<RegistryChange>()
            registry.onChange { change.give($0) }
            if keyID == records[0].keyID {
                #expect(try administration.revoke([keyID, records[2].keyID]) == [.done, .done])
                #expect(change.wait() == .keys([keyID, records[2].keyID]))
            } else {
                #expect(try administration.erase([keyID]) == [.done])
                #expect(change.wait() == .keys([keyID]))
            }
        }
        registry.close()
    }

    @Test("a change too large to name is everything")
    func everything() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let change = Reply<RegistryChange>()
        registry.onChange { change.give($0) }
        let administration = try SQLiteAdministration(path: directory.registryPath)
        var records = (0..<1500).map { _ in generator.record() }
        let first = administration.beginImport()
        for record in records { try first.add(record) }
        #expect(try first.finish().addedCount == 1500)
        for index in records.indices { records[index].counterFloor = 10 }
        let second = administration.beginImport()
        for record in records { try second.add(record) }
        #expect(try second.finish().tightenedCount == 1500)
        #expect(change.wait() == .everything)
        registry.close()
    }

    @Test("another file in the registry's place is told of, and its keys count")
    func replaced() throws {
        let otherPath = directory.path + "/other.db"
        let other = try SQLiteRegistry(path: otherPath)
        let known = generator.record()
        _ = try other.enrol(known, challenge: generator.bytes16())
        other.close()
        let registry = try SQLiteRegistry(path: directory.registryPath)
        #expect(try registry.find(known.keyID) == nil)
        let change = Reply<RegistryChange>()
        registry.onChange { change.give($0) }
        #expect(rename(otherPath, directory.registryPath) == 0)
        #expect(change.wait() == .replaced)
        #expect(try registry.find(known.keyID) == known.withoutReceipt)
        registry.close()
    }

    /// Another registry with these keys revoked, each by a change of its own.
    private func history(_ records: [KeyRecord], revoked: [KeyRecord]) throws -> String {
        let path = directory.path + "/history.db"
        let administration = try SQLiteAdministration(path: path, createsIfMissing: true)
        let load = administration.beginImport()
        for record in records { try load.add(record) }
        _ = try load.finish()
        #expect(
            try administration.revoke(revoked.map(\.keyID)).allSatisfy { $0 == .done })
        return path
    }

    /// Writes the file over the registry in place, as SQLite's own tools do.
    private func restore(_ path: String) throws {
        try Connection(path: path).copy(to: try Connection(path: directory.registryPath))
    }

    @Test("an older copy that is written over the file is told of, and so is what comes then")
    func olderCopy() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let records = try (0..<3).map { _ in try registry.enrolAny(&generator) }
        let copy = try history(records, revoked: [])
        let administration = try SQLiteAdministration(path: directory.registryPath)
        let changes = (0..<3).map { _ in Reply<RegistryChange>() }
        let count = Locked(0)
        registry.onChange { change in
            let number = count.withLock { number in
                defer { number += 1 }
                return number
            }
            if number < changes.count { changes[number].give(change) }
        }
        #expect(try administration.revoke([records[0].keyID]) == [.done])
        #expect(changes[0].wait() == .keys([records[0].keyID]))
        try restore(copy)
        #expect(changes[1].wait() == .replaced)
        #expect(try administration.revoke([records[2].keyID]) == [.done])
        #expect(changes[2].wait() == .keys([records[2].keyID]))
        registry.close()
    }

    @Test("a copy that has grown by other changes, or began as a backup, is told of")
    func otherCopy() throws {
        for isBackup in [false, true] {
            let path = directory.path + "/\(isBackup).db"
            let registry = try SQLiteRegistry(path: path)
            let records = try (0..<3).map { _ in try registry.enrolAny(&generator) }
            let administration = try SQLiteAdministration(path: path)
            var copy = directory.path + "/backup.db"
            if isBackup {
                #expect(try administration.backUp(to: copy) == 3)
            } else {
                let change = Reply<RegistryChange>()
                registry.onChange { change.give($0) }
                #expect(try administration.revoke([records[0].keyID]) == [.done])
                #expect(change.wait() != nil)
                copy = try history(records, revoked: [records[1], records[2]])
            }
            let change = Reply<RegistryChange>()
            registry.onChange { change.give($0) }
            try Connection(path: copy).copy(to: try Connection(path: path))
            #expect(change.wait() == .replaced)
            registry.close()
        }
    }

    @Test("a file that was away for a while is the same one")
    func returned() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        let aside = directory.path + "/aside.db"
        #expect(rename(directory.registryPath, aside) == 0)
        // Whoever asks finds it gone.
        #expect(throws: StoreError.self) { try registry.find(record.keyID) }
        let change = Reply<RegistryChange>()
        registry.onChange { change.give($0) }
        #expect(rename(aside, directory.registryPath) == 0)
        #expect(change.wait() == .everything)
        #expect(try registry.find(record.keyID) == record.withoutReceipt)
        registry.close()
    }

    @Test("another process's change is seen", .enabled(if: sqliteShell != nil))
    func otherProcess() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        let change = Reply<RegistryChange>()
        registry.onChange { change.give($0) }
        let outcome = try ChildProcess.run(
            try #require(sqliteShell),
            [
                directory.registryPath,
                "UPDATE keys SET status = 1; INSERT INTO changes (key_id) SELECT key_id FROM keys;",
            ])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        #expect(change.wait() == .keys([record.keyID]))
        #expect(try registry.find(record.keyID)?.status == .revoked)
        registry.close()
    }
}

private let sqliteShell = ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
}
