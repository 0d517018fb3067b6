import Attestation
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Postgres
import PostgresKeyStore
import Testing

/// How gateways hear of what others change.
@Suite(
    "Changes in a PostgreSQL registry", .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(30)))
final class PostgresChangeTests {
    let fixture: PostgresFixture
    var generator = SeededGenerator(seed: 13)

    init() throws { fixture = try PostgresFixture() }
}

extension PostgresChangeTests {
    /// A registry that reads changes already.
    private func listening(
        _ change: (inout PostgresRegistryConfiguration) -> Void = { _ in }
    ) throws -> (PostgresRegistry, ChangeRecorder) {
        let registry = try fixture.registry(change)
        let recorder = ChangeRecorder(registry)
        try recorder.waitUntilListening(registry, to: fixture.administration(), &generator)
        return (registry, recorder)
    }

    @Test("a revocation reaches every gateway by name")
    func everyGateway() throws {
        let gateways = [try listening(), try listening()]
        let record = generator.record()
        _ = try gateways[0].0.enrol(record, challenge: generator.bytes16())
        #expect(try fixture.administration().revoke([record.keyID]) == [.done])
        for (registry, recorder) in gateways {
            #expect(recorder.waitForKey(record.keyID))
            #expect(try registry.find(record.keyID)?.status == .revoked)
            registry.close()
        }
    }

    @Test("a change without a notification is found all the same")
    func withoutNotification() throws {
        let (registry, recorder) = try listening()
        let keyID = generator.keyID()
        let hex = keyID.digest.array.map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        try fixture.query(
            """
            WITH next AS (
                UPDATE sallyport.registry SET revision = revision + 1 RETURNING revision)
            INSERT INTO sallyport.changes (revision, key_id) SELECT revision, '\\x\(hex)' FROM next
            """)
        #expect(recorder.waitForKey(keyID))
        registry.close()
    }

    @Test("a revocation is heard although the connection that listens does not answer")
    func listenerStandsStill() throws {
        let own = try PostgresFixture(try PostgresServer())
        let registry = try own.registry { $0.connection.commandTimeout = .seconds(300) }
        let recorder = ChangeRecorder(registry)
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        // The session that listens is the one that reads changes.
        let listener = try own.waitForSession(
            "query LIKE '%WHERE revision >=%' AND pid <> pg_backend_pid()")
        own.server.stopSession(listener)
        #expect(try own.administration().revoke([record.keyID]) == [.done])
        #expect(recorder.waitForKey(record.keyID))
        own.server.resumeSession(listener)
        registry.close()
    }

    @Test("what changed while the connection was lost is read by name when it is back")
    func whileAway() throws {
        let (registry, recorder) = try listening()
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        try fixture.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'sallyport' AND datname = current_database()
            """)
        #expect(try fixture.administration().revoke([record.keyID]) == [.done])
        #expect(recorder.waitForKey(record.keyID))
        registry.close()
    }

    @Test(
        "where the last change read is not there as it was, everything may have changed",
        arguments: [
            "UPDATE sallyport.changes SET mark = gen_random_uuid()",
            "DELETE FROM sallyport.changes",
        ])
    func anotherHistory(sql: String) throws {
        let (registry, recorder) = try listening()
        let count = Locked(0)
        #expect(
            recorder.wait { changes in
                count.withLock { $0 = changes.count }
                return true
            })
        try fixture.query(sql)
        if sql.hasPrefix("DELETE") {
            try fixture.query(
                "INSERT INTO sallyport.changes (revision) SELECT revision FROM sallyport.registry")
        }
        #expect(recorder.wait { $0.dropFirst(count.withLock { $0 }).contains(.everything) })
        registry.close()
    }

    @Test("more changes than are worth naming are one")
    func many() throws {
        let (registry, recorder) = try listening()
        let administration = try fixture.administration()
        let records = (0..<1500).map { _ in generator.record() }
        let batch = administration.beginImport()
        for record in records { try batch.add(record) }
        #expect(try batch.finish().addedCount == 1500)
        let count = Locked(0)
        _ = recorder.wait { changes in
            count.withLock { $0 = changes.count }
            return true
        }
        let outcomes = try administration.revoke(records.map(\.keyID))
        #expect(outcomes.allSatisfy { $0 == .done })
        #expect(recorder.wait { $0.dropFirst(count.withLock { $0 }).contains(.everything) })
        registry.close()
    }

    @Test("without news for as long as is allowed, caches are emptied")
    func stale() throws {
        let own = try PostgresFixture(try PostgresServer())
        // Longer than a busy machine holds up the connection that listens.
        let registry = try own.registry { $0.staleMax = .seconds(5) }
        let recorder = ChangeRecorder(registry)
        try recorder.waitUntilListening(registry, to: own.administration(), &generator)
        let record = try registry.enrolAny(&generator)
        #expect(try own.administration().revoke([record.keyID]) == [.done])
        #expect(recorder.waitForKey(record.keyID))
        try own.server.kill()
        #expect(recorder.wait { $0.last == .everything })
        #expect(registry.hearing?.isExpired == true)
        registry.close()
    }
}
