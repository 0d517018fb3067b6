import Attestation
import Bytes
import GatewayTesting
import KeyStore
import SQLiteKeyStore
import Testing

/// Who changed what and when, in both registries.
@Suite("The audit log", .timeLimit(.minutes(30)))
final class AuditLogTests {
    private var generator = SeededGenerator(seed: 47)
}

extension AuditLogTests {
    private static let ann = AuditAuthor(
        way: .api, name: "ann", origin: "192.0.2.1", requestID: "request-1")

    private func withRegistry(
        _ kind: RegistryKind, _ body: (RegistryFixture, any RegistryAdministration) throws -> Void
    ) throws {
        let fixture = try RegistryFixture(kind)
        defer { withExtendedLifetime(fixture) {} }
        // Makes the tables.
        try fixture.registry().close()
        let administration = try fixture.administration()
        administration.author = Self.ann
        try body(fixture, administration)
    }

    private func records(_ count: Int) -> [KeyRecord] {
        (0..<count).map { _ in generator.record() }.sorted { $0.keyID.digest < $1.keyID.digest }
    }

    private func notes(
        _ registry: any RegistryAdministration, _ filter: AuditFilter = AuditFilter()
    ) throws -> [AuditNote] { try registry.audit(filter).map(\.note) }

    @Test("every change leaves who, what and when", arguments: RegistryKind.installed)
    func changes(kind: RegistryKind) throws {
        try withRegistry(kind) { _, registry in
            let records = records(2)
            _ = try registry.write(records[...])
            let (first, second) = (records[0].keyID, records[1].keyID)
            let stranger = generator.record().keyID
            _ = try registry.revoke([first, first, stranger])
            _ = try registry.erase([second])
            _ = try registry.renewReceipts(of: [first], at: 1)
            let write = SharedWrite(name: "rollout/x", value: [1], expected: nil)
            let note = AuditNote(.setRollout, "x", outcome: "done", detail: "5%")
            #expect(try registry.writeShared(write, noting: note).isWritten)
            // Another one was first: nothing is written, and nothing is noted.
            #expect(try !registry.writeShared(write, noting: note).isWritten)
            // The same keys again change nothing.
            _ = try registry.write(records[..<1])
            let entries = try registry.audit(AuditFilter())
            #expect(
                entries.map(\.note) == [
                    note,
                    AuditNote(
                        .renewReceipts, first.base64, outcome: "unchanged",
                        detail: "0 of 1 made due"),
                    AuditNote(.eraseKey, second.base64, outcome: "done"),
                    AuditNote(.revokeKey, stranger.base64, outcome: "unknown_key"),
                    AuditNote(.revokeKey, first.base64, outcome: "unchanged"),
                    AuditNote(.revokeKey, first.base64, outcome: "done"),
                    AuditNote(
                        .importKeys, "", outcome: "done", detail: "added 2, made stricter 0"),
                ])
            #expect(entries.map(\.number) == [7, 6, 5, 4, 3, 2, 1])
            #expect(entries.allSatisfy { $0.author == Self.ann })
            #expect(entries.allSatisfy { $0.milliseconds > 1_600_000_000_000 })
        }
    }

    @Test("a change whose entry cannot be written is not made", arguments: RegistryKind.installed)
    func together(kind: RegistryKind) throws {
        try withRegistry(kind) { fixture, registry in
            let records = records(2)
            _ = try registry.write(records[...])
            try fixture.execute(
                sqlite: """
                    CREATE TRIGGER no BEFORE INSERT ON audit
                    BEGIN SELECT RAISE(ABORT, 'no'); END
                    """,
                postgres: "ALTER TABLE sallyport.audit ADD CHECK (number < 2)")
            let (first, other) = (records[0].keyID, generator.record())
            let write = SharedWrite(name: "rollout/x", value: [1], expected: nil)
            let note = AuditNote(.setRollout, "x", outcome: "done")
            #expect(throws: StoreError.self) { try registry.revoke([first]) }
            #expect(throws: StoreError.self) { try registry.erase([first]) }
            #expect(throws: StoreError.self) { try registry.write([other]) }
            #expect(throws: StoreError.self) { try registry.writeShared(write, noting: note) }
            #expect(throws: StoreError.self) { try registry.append(note) }
            #expect(try registry.find(first)?.status == .active)
            #expect(try registry.find(other.keyID) == nil)
            #expect(try registry.readShared("rollout/x").entry == nil)
            #expect(try notes(registry).count == 1)
        }
    }

    @Test("without an author nothing is noted", arguments: RegistryKind.installed)
    func nobody(kind: RegistryKind) throws {
        try withRegistry(kind) { _, registry in
            registry.author = nil
            let records = records(1)
            _ = try registry.write(records[...])
            #expect(try registry.revoke([records[0].keyID]) == [.done])
            try registry.append(AuditNote(.backUp, "x", outcome: "done"))
            #expect(try notes(registry).isEmpty)
        }
    }

    @Test("pages, times and what is new", arguments: RegistryKind.installed)
    func filters(kind: RegistryKind) throws {
        try withRegistry(kind) { fixture, registry in
            for number in 1...5 {
                try registry.append(AuditNote(.backUp, "\(number)", outcome: "done"))
            }
            func subjects(_ change: (inout AuditFilter) -> Void) throws -> [String] {
                var filter = AuditFilter()
                change(&filter)
                return try notes(registry, filter).map(\.subject)
            }
            #expect(try subjects { $0.countMax = 2 } == ["5", "4"])
            #expect(
                try subjects {
                    $0.before = 4
                    $0.countMax = 2
                } == ["3", "2"])
            #expect(try subjects { $0.after = 3 } == ["5", "4"])
            #expect(try subjects { $0.countMax = 0 } == [])
            try fixture.execute(
                sqlite: "UPDATE audit SET at = 1000 WHERE number < 5",
                postgres: "UPDATE sallyport.audit SET at = 1000 WHERE number < 5")
            #expect(try subjects { $0.since = 1000 }.count == 5)
            #expect(try subjects { $0.since = 1001 } == ["5"])
        }
    }

    @Test(
        "the oldest entries give way, and no text fills the table",
        arguments: RegistryKind.installed)
    func bounds(kind: RegistryKind) throws {
        try withRegistry(kind) { fixture, registry in
            for name in ["old", "recent"] {
                try registry.append(AuditNote(.backUp, name, outcome: "done"))
            }
            let far = AuditEntry.keptCountMax + 1
            let move = "audit SET number = \(far) WHERE number = 2"
            try fixture.execute(
                sqlite: "UPDATE \(move)",
                postgres: """
                    UPDATE sallyport.\(move); UPDATE sallyport.registry SET audit = \(far)
                    """)
            let long = String(repeating: "\u{e9}", count: 10_000) + "\0end"
            registry.author = AuditAuthor(
                way: .command, name: "a\0b\u{1B}[2J", origin: long, requestID: "r")
            try registry.append(AuditNote(.backUp, long, outcome: "done"))
            let entries = try registry.audit(AuditFilter())
            #expect(entries.map(\.number) == [far + 1, far])
            let newest = try #require(entries.first)
            #expect(newest.note.subject == String(repeating: "\u{e9}", count: 128))
            #expect(newest.author.origin.utf8.count == 256)
            #expect(newest.author.name == "ab\u{1B}[2J")
        }
    }

    @Test("a user who is forgotten leaves no trace in it", arguments: RegistryKind.installed)
    func forgetting(kind: RegistryKind) throws {
        try withRegistry(kind) { fixture, registry in
            let gateway = try fixture.registry()
            defer { gateway.close() }
            let record = generator.record()
            #expect(try gateway.enrol(record, challenge: generator.bytes16()) == .enrolled)
            let user = UserPseudonym(value: generator.bytes16())
            let sighting = KeySighting(
                keyID: record.keyID, user: user, milliseconds: 1000, countedSince: 0)
            let reply = Reply<Result<UserKeys?, StoreError>>()
            gateway.note(sighting) { reply.give($0) }
            #expect(try reply.wait()?.get() != nil)
            try registry.forget(user)
            try registry.forget(user)
            let entries = try notes(registry)
            #expect(
                entries == [
                    AuditNote(.eraseUser, "", outcome: "done", detail: "forgotten with 1 key")
                ])
            #expect(try registry.users(of: record.keyID).isEmpty)
        }
    }

    @Test("a gateway that starts with a backup says so, once")
    func restore() throws {
        let directory = try TemporaryDirectory()
        try SQLiteRegistry(path: directory.registryPath).close()
        let original = try SQLiteAdministration(path: directory.registryPath)
        original.author = Self.ann
        _ = try original.write(records(3)[...])
        let copy = directory.registryPath + ".copy"
        var steps: [Int] = []
        #expect(try original.backUp(to: copy) { done, total in steps += [done, total] } == 3)
        #expect(steps.count >= 2 && steps.suffix(2).first == steps.last)
        try original.noteRestore()
        #expect(try notes(original).map(\.action) == ["keys.import"])
        for _ in 0..<2 {
            let restored = try SQLiteAdministration(path: copy)
            restored.author = Self.ann
            try restored.noteRestore()
            let found = try notes(restored)
            #expect(found.map(\.action) == ["keys.restore", "keys.import"])
            #expect(found.first?.detail.hasPrefix("the copy of 20") == true)
        }
    }
}
