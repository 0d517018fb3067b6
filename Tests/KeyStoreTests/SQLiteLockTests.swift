import Attestation
import Bytes
import EventLoop
import KeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// Another process holds the write lock of the file for as long as it likes.
@Suite("A registry that is locked by another process")
final class SQLiteLockTests {
    private let directory: TemporaryDirectory
    private let registry: SQLiteRegistry
    private let other: Connection
    private var generator = SeededGenerator(seed: 83)

    init() throws {
        directory = try TemporaryDirectory()
        var options = SQLiteRegistry.Options()
        options.queueCountMax = 4
        // Longer than a test: a write that waits holds nothing up.
        options.busyMillisecondsMax = 3_600_000
        registry = try SQLiteRegistry(path: directory.registryPath, options: options)
        other = try Connection(path: directory.registryPath)
    }
}

extension SQLiteLockTests {
    private func enrolled() throws -> KeyRecord { try registry.enrolAny(&generator) }

    @Test("look-ups are answered and revocations are told while a write waits")
    func readsGoOn() throws {
        let known = try enrolled()
        let revoked = try enrolled()
        let recorder = ChangeRecorder(registry)
        try other.begin(.immediate)
        let late = Reply<Result<EnrolmentOutcome, StoreError>>()
        registry.enrol(generator.record(), challenge: generator.bytes16()) { late.give($0) }
        // The first may go before the write, the second comes behind it.
        #expect(try registry.find(known.keyID) == known)
        #expect(try registry.find(known.keyID) == known)
        let hex = Hex.encode(revoked.keyID.digest.array)
        try other.execute(
            """
            UPDATE keys SET status = 1 WHERE key_id = x'\(hex)';
            INSERT INTO changes (key_id) VALUES (x'\(hex)');
            COMMIT; BEGIN IMMEDIATE
            """)
        #expect(recorder.waitForKey(revoked.keyID))
        #expect(try registry.find(revoked.keyID)?.status == .revoked)
        other.rollback()
        #expect(try late.wait()?.get() == .enrolled)
        registry.close()
    }

    @Test("writes that wait take no place from look-ups")
    func placesForLookUps() throws {
        let known = try enrolled()
        try other.begin(.immediate)
        let refused = Reply<Bool>()
        for _ in 0..<20 {
            registry.enrol(generator.record(), challenge: generator.bytes16()) { result in
                if case .failure = result { refused.give(true) }
            }
        }
        #expect(refused.wait() == true)
        #expect(try registry.find(known.keyID) == known)
        #expect(try registry.find(known.keyID) == known)
        other.rollback()
        registry.close()
    }
}
