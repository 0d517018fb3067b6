import Attestation
import Bytes
import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// What concerns few keys reads few of them, however many there are.
@Suite("What an operator does to few keys of many", .timeLimit(.minutes(30)))
final class RegistryScaleTests {
    var generator = SeededGenerator(seed: 47)
}

extension RegistryScaleTests {
    @Test(
        "leads SQLite to revoked and erased keys by an index",
        arguments: [KeyStatus.revoked, .erased])
    func sqlitePages(status: KeyStatus) throws {
        let directory = try TemporaryDirectory()
        _ = try SQLiteAdministration(path: directory.registryPath, createsIfMissing: true)
        let connection = try Connection(path: directory.registryPath)
        var filter = KeyFilter()
        filter.status = status
        // One step: what the index yields is in the order of the page.
        #expect(
            try plan(SQLiteAdministration.pageSQL(filter), connection)
                == ["SEARCH keys USING INDEX keys_inactive (status=? AND key_id>?)"])
    }

    @Test("makes no copy of SQLite's keys to count them all")
    func sqliteCounts() throws {
        let directory = try TemporaryDirectory()
        let administration = try SQLiteAdministration(
            path: directory.registryPath, createsIfMissing: true)
        let load = administration.beginImport()
        for number in 0..<7 {
            var record = generator.record(appID: number < 4 ? "TEAM.b" : "TEAM.a")
            if number == 2 { record.status = .revoked }
            if number == 5 { record.environment = .development }
            try load.add(record)
        }
        _ = try load.finish()
        let counts = try administration.counts().map {
            "\($0.appID) \($0.environment) \($0.status) \($0.count)"
        }
        #expect(
            counts == [
                "TEAM.a production active 2", "TEAM.a development active 1",
                "TEAM.b production active 3", "TEAM.b production revoked 1",
            ])
        let connection = try Connection(path: directory.registryPath)
        #expect(try plan(SQLiteAdministration.countedSQL, connection) == ["SCAN keys"])
    }

    /// What SQLite does for a statement.
    private func plan(_ sql: String, _ connection: Connection) throws -> [String] {
        let plan = try connection.prepare("EXPLAIN QUERY PLAN \(sql)")
        var steps: [String] = []
        while try plan.step() { steps.append(plan.text(3) ?? "") }
        return steps
    }

    @Test("keeps a challenge spent whose key is erased")
    func sqliteChallenges() throws {
        let directory = try TemporaryDirectory()
        let registry = try SQLiteRegistry(path: directory.registryPath)
        defer { registry.close() }
        let challenge = generator.bytes16()
        let record = generator.record()
        #expect(try registry.enrol(record, challenge: challenge) == .enrolled)
        let connection = try Connection(path: directory.registryPath)
        #expect(try connection.integer("SELECT count(*) FROM challenges") == 1)
        let administration = try SQLiteAdministration(path: directory.registryPath)
        #expect(try administration.erase([record.keyID]) == [.done])
        #expect(try registry.enrol(generator.record(), challenge: challenge) == .challengeSpent)
    }

    @Test(
        "reads few rows of PostgreSQL's tables",
        .enabled(if: PostgresServer.isInstalled))
    func postgres() throws {
        let fixture = try PostgresFixture()
        try fixture.registry().close()
        // With receipts and users, as a table without rows is always read whole.
        try fixture.query(
            """
            INSERT INTO sallyport.keys (key_id, public_key, app_id, environment, status, counter,
                    enrolled_at)
                SELECT sha256(number::text::bytea), decode(repeat('5a', 64), 'hex'), 'TEAM.app', 0,
                    CASE WHEN number % 5000 = 0 THEN 1 ELSE 0 END, 0, 0
                FROM generate_series(1, 20000) AS number;
            INSERT INTO sallyport.challenges (challenge, key_id)
                SELECT substr(key_id, 1, 16), key_id FROM sallyport.keys;
            INSERT INTO sallyport.renewals (key_id, app_id, environment, due_at, failures)
                SELECT key_id, app_id, 0, 1, 0 FROM sallyport.keys;
            INSERT INTO sallyport.key_users SELECT key_id, substr(key_id, 1, 16), 0, 0
                FROM sallyport.keys;
            ANALYZE
            """)
        let before = try rowsRead(fixture)
        try operate(fixture)
        // A session counts at its end.
        try fixture.waitForSessions(
            0, "pid <> pg_backend_pid() AND backend_type = 'client backend'")
        // Two pages of 100 keys with what is known of their receipts, and some single keys.
        #expect(try rowsRead(fixture) - before < 1000)
    }

    private func rowsRead(_ fixture: PostgresFixture) throws -> Int {
        let text = try fixture.query(
            """
            SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables
            WHERE relname IN ('keys', 'challenges', 'renewals', 'key_users')
            """)
        return try #require(Int(text))
    }

    /// Every action but those on all keys.
    private func operate(_ fixture: PostgresFixture) throws {
        let administration = try fixture.administration()
        var filter = KeyFilter()
        filter.countMax = 100
        let page = try administration.list(filter, withReceipts: true).map(\.keyID)
        #expect(page.count == 100)
        filter.after = page.last
        #expect(try administration.list(filter, withReceipts: false).count == 100)
        filter.after = nil
        filter.status = .revoked
        #expect(try administration.list(filter, withReceipts: false).count == 4)
        #expect(try administration.find(page[0]) != nil)
        #expect(try administration.users(of: page[0]).count == 1)
        #expect(try administration.renewReceipts(of: [page[1]], at: 1) == [.wasDue])
        #expect(try administration.revoke([page[2]]) == [.done])
        #expect(try administration.erase([page[3]]) == [.done])
    }
}
