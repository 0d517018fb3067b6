import Attestation
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Postgres
import PostgresKeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// What a registry knows of changes by others, and since when.
@Suite("The hearing of changes", .timeLimit(.minutes(30)))
final class ChangeHearingTests {
    var generator = SeededGenerator(seed: 32)
}

extension ChangeHearingTests {
    /// Waits until `condition` holds of what the registry says.
    private func wait(
        for registry: any Registry, _ condition: (_ age: Duration, _ reason: String?) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let hearing = try #require(registry.hearing)
        let limit = ChildProcess.deadline
        while Date() < limit {
            if condition(hearing.age(at: .now()), hearing.failure) { return }
            _ = poll(nil, 0, 10)
        }
        let words = "\(hearing.age(at: .now())), \(hearing.failure ?? "no reason")"
        Issue.record("never: \(words)", sourceLocation: sourceLocation)
    }

    private func waitUntilHeard(
        _ registry: any Registry, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try wait(
            for: registry, { $0 < .seconds(1) && $1 == nil }, sourceLocation: sourceLocation)
    }

    /// A server's way to keep changes from a gateway.
    struct Obstacle: CustomTestStringConvertible {
        let testDescription: String
        /// Of the gateway's role: what is done to it, and what mends that.
        let obstruct: String
        let mend: String
        /// True if it applies to connections that are made.
        var endsSessions = false
        let words: String

        static let all = [
            Obstacle(
                testDescription: "a right that was taken away",
                obstruct: "REVOKE SELECT ON sallyport.changes FROM ROLE",
                mend: "GRANT SELECT ON sallyport.changes TO ROLE",
                words: "permission denied for table changes"),
            Obstacle(
                testDescription: "row security that hides all changes",
                obstruct: """
                    ALTER TABLE sallyport.changes ENABLE ROW LEVEL SECURITY,
                        FORCE ROW LEVEL SECURITY
                    """,
                mend: "ALTER TABLE sallyport.changes DISABLE ROW LEVEL SECURITY",
                words: "row security"),
            Obstacle(
                testDescription: "row security that hides later changes",
                obstruct: """
                    CREATE POLICY old ON sallyport.changes USING (revision <= 1);
                    ALTER TABLE sallyport.changes ENABLE ROW LEVEL SECURITY,
                        FORCE ROW LEVEL SECURITY;
                    WITH next AS (
                        UPDATE sallyport.registry SET revision = revision + 1 RETURNING revision)
                    INSERT INTO sallyport.changes (revision) SELECT revision FROM next
                    """,
                mend: "ALTER TABLE sallyport.changes DISABLE ROW LEVEL SECURITY",
                words: "row security"),
            Obstacle(
                testDescription: "a connection limit",
                obstruct: "ALTER ROLE ROLE CONNECTION LIMIT 0",
                mend: "ALTER ROLE ROLE CONNECTION LIMIT -1", endsSessions: true,
                words: "too many connections"),
            Obstacle(
                testDescription: "a login that is refused",
                obstruct: "ALTER ROLE ROLE NOLOGIN", mend: "ALTER ROLE ROLE LOGIN",
                endsSessions: true, words: "not permitted to log in"),
        ]
    }

    @Test(
        "a table of changes that cannot be read has an age and a reason",
        .enabled(if: PostgresServer.isInstalled), arguments: Obstacle.all)
    func unreadable(_ obstacle: Obstacle) throws {
        let fixture = try PostgresFixture()
        let role = "gateway_\(fixture.database)"
        try fixture.query(
            "CREATE ROLE \(role) LOGIN; ALTER DATABASE \(fixture.database) OWNER TO \(role)")
        let registry = try fixture.registry { $0.connection.user = role }
        try waitUntilHeard(registry)
        try fixture.query(
            obstacle.obstruct.replacing("ROLE ROLE", with: "ROLE \(role)")
                .replacing("FROM ROLE", with: "FROM \(role)"))
        if obstacle.endsSessions { try fixture.endSessions("usename = '\(role)'") }
        try wait(for: registry) { $0 > .seconds(1) && $1?.contains(obstacle.words) == true }
        try fixture.query(
            obstacle.mend.replacing("ROLE ROLE", with: "ROLE \(role)")
                .replacing("TO ROLE", with: "TO \(role)"))
        try waitUntilHeard(registry)
        registry.close()
    }

    @Test(
        "a lock on the table of changes takes one connection from look-ups, and not the last",
        .enabled(if: PostgresServer.isInstalled), arguments: [3, 1])
    func locked(poolCount: Int) throws {
        let fixture = try PostgresFixture()
        let registry = try fixture.registry {
            $0.connection.commandTimeout = .seconds(60)
            $0.poolCount = poolCount
        }
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        try waitUntilHeard(registry)
        let holder = try fixture.hold("LOCK TABLE sallyport.changes IN ACCESS EXCLUSIVE MODE")
        // By now it was asked for on other connections again and again.
        try wait(for: registry) { age, _ in age > .seconds(3) }
        try fixture.waitForSessions(poolCount > 1 ? 2 : 1, "wait_event_type = 'Lock'")
        #expect(try registry.find(record.keyID) != nil)
        // Nor do connections that begin meanwhile wait for the lock.
        try fixture.endSessions("state = 'idle'")
        let limit = ChildProcess.deadline
        while (try? registry.find(record.keyID)) == nil, Date() < limit {}
        #expect(try registry.find(record.keyID) != nil)
        try fixture.letGo()
        withExtendedLifetime(holder) {}
        try waitUntilHeard(registry)
        registry.close()
    }

    @Test(
        "a change that is shown is told although a later one is hidden",
        .enabled(if: PostgresServer.isInstalled), arguments: [true, false])
    func hiddenLater(isKnownBefore: Bool) throws {
        let fixture = try PostgresFixture()
        let role = "gateway_\(fixture.database)"
        try fixture.query(
            "CREATE ROLE \(role) LOGIN; ALTER DATABASE \(fixture.database) OWNER TO \(role)")
        let registry = try fixture.registry { $0.connection.user = role }
        let told = Locked<[RegistryChange]>([])
        registry.onChange { change in told.withLock { $0.append(change) } }
        try wait(for: registry) { _, _ in told.withLock { !$0.isEmpty } }
        let digest = generator.bytes32()
        func note(_ key: String) -> String {
            """
            WITH next AS (
                UPDATE sallyport.registry SET revision = revision + 1 RETURNING revision)
            INSERT INTO sallyport.changes (revision, key_id) SELECT revision, \(key) FROM next;
            """
        }
        let hide = """
            CREATE POLICY hide ON sallyport.changes USING (revision <> 3);
            ALTER TABLE sallyport.changes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
            """
        let key = "decode('\(KeyID(digest: digest).base64)', 'base64')"
        if isKnownBefore {
            // The first is shown and the second hidden, to one look at both.
            try fixture.query(hide + note(key) + note("NULL"))
            try wait(for: registry) { $1?.contains("row security") == true }
            #expect(told.withLock { $0 }.contains(.keys([KeyID(digest: digest)])))
        } else {
            // What was read last is not shown either.
            told.withLock { $0 = [] }
            try fixture.query(
                hide.replacing("<> 3", with: "= 2") + note(key) + note("NULL"))
            try wait(for: registry) { $1?.contains("row security") == true }
            #expect(told.withLock { $0 }.contains(.everything))
        }
        registry.close()
    }

    @Test("an SQLite table of changes that cannot be read has an age and a reason")
    func sqlite() throws {
        let directory = try TemporaryDirectory()
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        try waitUntilHeard(registry)
        let other = try Connection(path: directory.registryPath)
        try other.execute("ALTER TABLE changes RENAME TO hidden")
        try wait(for: registry) { $0 > .seconds(1) && $1?.contains("changes") == true }
        #expect(try registry.find(record.keyID) == record.withoutReceipt)
        try other.execute("ALTER TABLE hidden RENAME TO changes")
        try waitUntilHeard(registry)
        registry.close()
    }

    @Test("what was heard is not forgotten for an older answer, and ends what had expired")
    func order() {
        let hearing = ChangeHearing(since: MonotonicInstant(nanoseconds: 1_000_000_000))
        let now = MonotonicInstant(nanoseconds: 9_000_000_000)
        #expect(hearing.age(at: now) == .seconds(8))
        hearing.failed("why")
        hearing.expire()
        #expect(hearing.failure == "why" && hearing.isExpired)
        hearing.heard(asOf: MonotonicInstant(nanoseconds: 8_000_000_000))
        #expect(hearing.failure == nil && !hearing.isExpired)
        hearing.heard(asOf: MonotonicInstant(nanoseconds: 7_000_000_000))
        #expect(hearing.age(at: now) == .seconds(1))
        #expect(hearing.age(at: MonotonicInstant(nanoseconds: 0)) == .zero)
    }
}
