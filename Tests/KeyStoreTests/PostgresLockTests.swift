import Attestation
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Postgres
import PostgresKeyStore
import Testing

/// Gateways and commands lock the same rows, in one order.
@Suite(
    "Locks of a PostgreSQL registry", .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(30)))
final class PostgresLockTests {
    private let fixture: PostgresFixture
    private var generator = SeededGenerator(seed: 84)

    init() throws { fixture = try PostgresFixture() }
}

extension PostgresLockTests {
    private func hold(_ record: KeyRecord) throws -> ChildProcess {
        let hex = Hex.encode(record.keyID.digest.array)
        return try fixture.hold(
            "SELECT FROM sallyport.keys WHERE key_id = '\\x\(hex)' FOR UPDATE")
    }

    private func isWaiting(_ count: Int) throws {
        try fixture.waitForSessions(count, "wait_event_type = 'Lock'")
    }

    @Test("an enrolment is answered before floors that were asked for earlier")
    func floorsLast() throws {
        let registry = try fixture.registry { $0.connection.commandTimeout = .seconds(60) }
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        let holder = try hold(record)
        let ended = Locked<[Int]>([])
        let last = Reply<Int>()
        for number in 1...5 {
            registry.raiseFloors([(record.keyID, UInt32(number))]) { _ in
                ended.withLock { $0.append(number) }
                if number == 5 { last.give(5) }
            }
        }
        try isWaiting(1)
        let other = generator.record()
        registry.enrol(other, challenge: generator.bytes16()) { _ in
            ended.withLock { $0.append(0) }
        }
        // What waits behind the first floors is on its way to the pool before this is answered.
        #expect(try registry.find(record.keyID) != nil)
        try fixture.letGo()
        withExtendedLifetime(holder) {}
        #expect(last.wait() == 5)
        #expect(ended.withLock { $0 } == [1, 0, 2, 3, 4, 5])
        registry.close()
    }

    @Test("a group commit that touches keys in two ways and a revocation never wait in a circle")
    func groupCommit() throws {
        let registry = try fixture.registry { $0.connection.commandTimeout = .seconds(60) }
        let records = (0..<4).map { _ in generator.record() }.sorted {
            $0.keyID.digest < $1.keyID.digest
        }
        for record in records { _ = try registry.enrol(record, challenge: generator.bytes16()) }
        // A write that waits, so that the next two go together.
        let first = try hold(records[3])
        let before = Reply<Result<DurableOutcome, StoreError>>()
        registry.advanceDurably(records[3].keyID, counter: 1) { before.give($0) }
        try isWaiting(1)
        let counted = Reply<Result<DurableOutcome, StoreError>>()
        registry.advanceDurably(records[2].keyID, counter: 1) { counted.give($0) }
        let noted = Reply<Result<UserKeys?, StoreError>>()
        registry.note(
            KeySighting(
                keyID: records[0].keyID, user: UserPseudonym(value: generator.bytes16()),
                milliseconds: 1_790_000_000_000, countedSince: 0)
        ) { noted.give($0) }
        // The revocation has the first key and waits for the second.
        let second = try fixture.server.session(
            """
            BEGIN; SELECT FROM sallyport.keys
            WHERE key_id = '\\x\(Hex.encode(records[1].keyID.digest.array))' FOR UPDATE;
            SELECT pg_sleep(3601)
            """, database: fixture.database)
        try fixture.waitForSessions(1, "query LIKE '%3601%' AND wait_event = 'PgSleep'")
        let revocation = try fixture.revoking(records.prefix(3).map(\.keyID))
        try isWaiting(2)
        try fixture.endSessions("wait_event = 'PgSleep' AND query NOT LIKE '%3601%'")
        #expect(try before.wait()?.get() == .advanced)
        // Both the group and the revocation wait now.
        try isWaiting(2)
        try fixture.letGo()
        withExtendedLifetime((first, second)) {}
        #expect(try revocation.wait()?.get() == [.done, .done, .done])
        _ = try counted.wait()?.get()
        #expect(try noted.wait()?.get() == .some(nil))
        registry.close()
        // A deadlock that the server had to end is one also where the writes were done in the end;
        // a session has counted its own when it is gone.
        try fixture.waitForSessions(0, "application_name = 'sallyport'")
        let deadlocks = try fixture.query(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        #expect(deadlocks == "0")
    }

    @Test("a session that ends takes no look-up along that waits for a session")
    func lostSession() throws {
        let registry = try fixture.registry { $0.connection.commandTimeout = .seconds(60) }
        let records = (0..<6).map { _ in generator.record() }
        for record in records { _ = try registry.enrol(record, challenge: generator.bytes16()) }
        let holder = try fixture.hold("LOCK TABLE sallyport.keys IN ACCESS EXCLUSIVE MODE")
        let replies = try records.enumerated().map { index, record in
            let reply = Reply<Result<KeyRecord?, StoreError>>()
            registry.find([RegistryLookUp(record.keyID) { reply.give($0) }])
            // Both sessions wait, and then all others for a session.
            if index < 2 { try isWaiting(index + 1) }
            return reply
        }
        try fixture.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1
            """)
        try isWaiting(1)
        try fixture.letGo()
        withExtendedLifetime(holder) {}
        let found = replies.map { $0.wait() }
        let failureCount = found[..<2].count { if case .failure? = $0 { true } else { false } }
        #expect(failureCount == 1)
        for (reply, record) in zip(found, records).dropFirst(2) {
            #expect(try reply?.get()?.keyID == record.keyID)
        }
        registry.close()
    }
}
