import Attestation
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// A reader that stays in a transaction, so that nobody can empty the log.
@Suite("A registry whose log is held by a reader", .timeLimit(.minutes(30)))
final class SQLiteHeldLogTests {
    private let directory: TemporaryDirectory
    private let registry: SQLiteRegistry
    private let log: RegistryLog
    private let reader: Connection
    private var generator = SeededGenerator(seed: 84)

    init() throws {
        directory = try TemporaryDirectory()
        var options = SQLiteRegistry.Options()
        options.logByteCountMax = 96 << 20
        registry = try SQLiteRegistry(path: directory.registryPath, options: options)
        log = try #require(registry.writeAheadLog)
        reader = try Connection(path: directory.registryPath)
    }
}

extension SQLiteHeldLogTests {
    /// Another program writes so much.
    private func write(mebibytes: Int) throws {
        try Connection(path: directory.registryPath).execute(
            """
            CREATE TABLE IF NOT EXISTS filler (bytes BLOB);
            INSERT INTO filler VALUES (zeroblob(\(mebibytes << 20)))
            """)
    }

    private func beginReading() throws {
        try reader.begin(.deferred)
        _ = try reader.integer("SELECT count(*) FROM keys")
    }

    /// Waits until `condition` holds, which nothing but the registry's own thread brings about.
    private func wait(
        until condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let limit = ChildProcess.deadline
        while Date() < limit {
            if condition() { return }
            _ = poll(nil, 0, 10)
        }
        Issue.record("never: \(log.byteCount) bytes", sourceLocation: sourceLocation)
    }

    private func refusal(of counter: UInt32, _ keyID: KeyID) -> StoreError? {
        do {
            _ = try registry.advance(keyID, counter)
            return nil
        } catch {
            return error as? StoreError
        }
    }

    private func raiseFloor(_ keyID: KeyID, to counter: UInt32) throws {
        let reply = Reply<Result<Void, StoreError>>()
        registry.raiseFloors([(keyID, counter)]) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        try answer.get()
    }

    @Test("takes counters up to its bound, and beyond it everything else")
    func bound() throws {
        let record = try registry.enrolAny(&generator)
        let revoked = try registry.enrolAny(&generator)
        let recorder = ChangeRecorder(registry)
        try beginReading()
        try write(mebibytes: 70)
        wait { log.byteCount > RegistryLog.noticedByteCount }
        #expect(log.isGrown(at: .now() + .seconds(3)) && !log.isFull)
        #expect(log.reason == "this gateway is in a transaction that reads the registry")
        #expect(try registry.advance(record.keyID, 1) == .advanced)
        try raiseFloor(record.keyID, to: 2)
        try write(mebibytes: 40)
        wait { log.isFull }
        let held = log.byteCount
        let error = refusal(of: 3, record.keyID)
        #expect(error?.kind == .logFull)
        #expect(error?.description.contains("this gateway is in a transaction") == true)
        #expect(throws: StoreError.self) { try raiseFloor(record.keyID, to: 3) }
        // Neither has reached the log; what must not be lost does.
        #expect(log.byteCount == held)
        #expect(try registry.find(record.keyID)?.counterFloor == 2)
        let late = try registry.enrolAny(&generator)
        #expect(try registry.find(late.keyID) == late.withoutReceipt)
        let administration = try SQLiteAdministration(path: directory.registryPath)
        #expect(try administration.revoke([revoked.keyID]) == [.done])
        #expect(recorder.waitForKey(revoked.keyID))
        #expect(log.byteCount > held)
        registry.close()
    }

    @Test("is emptied by itself once the reader has gone, though nothing is written any more")
    func emptied() throws {
        let record = try registry.enrolAny(&generator)
        try beginReading()
        try write(mebibytes: 100)
        wait { log.isFull }
        #expect(refusal(of: 1, record.keyID)?.kind == .logFull)
        reader.rollback()
        wait { log.byteCount == 0 }
        #expect(!log.isGrown(at: .now() + .seconds(3)))
        #expect(File.byteCount(directory.registryPath + "-wal") == 0)
        #expect(try registry.advance(record.keyID, 1) == .advanced)
        registry.close()
    }

    @Test("a log that one import has made long is emptied")
    func imported() throws {
        try write(mebibytes: 100)
        wait { log.byteCount == 0 }
        let record = try registry.enrolAny(&generator)
        #expect(try registry.advance(record.keyID, 1) == .advanced)
        registry.close()
    }
}
