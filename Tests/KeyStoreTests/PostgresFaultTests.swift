import Attestation
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Postgres
import PostgresKeyStore
import Testing

/// A server that is killed, stands still, ends sessions, or is not the one that takes writes.
@Suite(
    "A PostgreSQL registry in trouble", .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(30)))
final class PostgresFaultTests {
    let fixture: PostgresFixture
    var generator = SeededGenerator(seed: 12)

    init() throws { fixture = try PostgresFixture(try PostgresServer()) }
}

extension PostgresFaultTests {
    /// Asks until the registry answers.
    private func waitUntilItAnswers(_ registry: PostgresRegistry) throws {
        try waitWhile((try? registry.probe()) == nil)
    }

    @Test("kill -9 of the server loses no acknowledged enrolment, and service returns by itself")
    func killedWhileEnrolling() throws {
        let registry = try fixture.registry()
        let records = (0..<600).map { _ in generator.record() }
        let acknowledged = Locked<Set<KeyID>>([])
        let failed = Locked<[KeyRecord]>([])
        let bell = Bell()
        for record in records {
            registry.enrol(record, challenge: generator.bytes16()) { result in
                if case .success(.enrolled) = result {
                    acknowledged.withLock { _ = $0.insert(record.keyID) }
                } else {
                    failed.withLock { $0.append(record) }
                }
                bell.ring()
            }
        }
        #expect(bell.wait { acknowledged.withLock { $0.count } > 20 })
        try fixture.server.kill()
        #expect(
            bell.wait {
                acknowledged.withLock { $0.count } + failed.withLock { $0.count } == records.count
            })
        // Down: nothing is unknown, everything is an error at once.
        #expect(throws: StoreError.self) { try registry.find(records[0].keyID) }
        try fixture.server.start()
        try waitUntilItAnswers(registry)
        for keyID in acknowledged.withLock({ $0 }) { #expect(try registry.find(keyID) != nil) }
        // What became of the others is not known; to repeat them is harmless.
        for record in failed.withLock({ $0 }) {
            let outcome = try registry.enrol(record, challenge: generator.bytes16())
            #expect(outcome == .enrolled || outcome == .alreadyEnrolled)
        }
        #expect(try fixture.query("SELECT count(*) FROM sallyport.keys") == "600")
        registry.close()
    }

    @Test("a server that stands still costs the command time-out, no longer")
    func standsStill() throws {
        let registry = try fixture.registry { $0.connection.commandTimeout = .seconds(2) }
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        fixture.server.stop()
        #expect(throws: StoreError.self) { try registry.find(record.keyID) }
        let error = #expect(throws: StoreError.self) {
            try registry.enrol(self.generator.record(), challenge: self.generator.bytes16())
        }
        #expect(error?.description.hasPrefix("registry: ") == true)
        fixture.server.resume()
        try waitUntilItAnswers(registry)
        #expect(try registry.find(record.keyID) == record)
        registry.close()
    }

    @Test("a reply lost behind the commit is an error, and the enrolment is there when repeated")
    func lostReply() throws {
        let registry = try fixture.registry { $0.connection.commandTimeout = .seconds(2) }
        let record = generator.record()
        let challenge = generator.bytes16()
        // The commit waits for a standby that there is not, so its reply does not come in time.
        try fixture.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try fixture.query("SELECT pg_reload_conf()")
        try waitWhile(try fixture.query("SHOW synchronous_standby_names") != "nobody")
        #expect(throws: StoreError.self) { try registry.enrol(record, challenge: challenge) }
        try fixture.query("ALTER SYSTEM RESET synchronous_standby_names")
        try fixture.query("SELECT pg_reload_conf()")
        try waitUntilItAnswers(registry)
        let outcome = try registry.enrol(record, challenge: challenge)
        #expect(outcome == .alreadyEnrolled || outcome == .enrolled)
        #expect(try fixture.query("SELECT count(*) FROM sallyport.keys") == "1")
        registry.close()
    }

    @Test("sessions that the server ends are made anew")
    func endedSessions() throws {
        let registry = try fixture.registry()
        let record = generator.record()
        for _ in 0..<3 {
            try waitUntilItAnswers(registry)
            _ = try registry.enrol(record, challenge: generator.bytes16())
            try fixture.query(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = 'sallyport'
                """)
        }
        try waitUntilItAnswers(registry)
        #expect(try registry.find(record.keyID) == record)
        registry.close()
    }

    @Test("tables that are lost while it runs are not made anew, and come back by a restore")
    func lostTables() throws {
        let registry = try fixture.registry()
        let record = generator.record()
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        try fixture.query("ALTER SCHEMA sallyport RENAME TO elsewhere")
        try fixture.endSessions("application_name = 'sallyport'")
        try waitWhile((try? registry.probe()) != nil)
        #expect {
            try registry.probe()
        } throws: { "\($0)".contains("there are no tables in schema sallyport") }
        try fixture.query("ALTER SCHEMA elsewhere RENAME TO sallyport")
        try waitUntilItAnswers(registry)
        #expect(try registry.find(record.keyID) == record)
        registry.close()
    }

    @Test("starts while the server is away, and makes the tables when it comes")
    func startsFirst() throws {
        try fixture.server.kill()
        let registry = try fixture.registry()
        #expect(throws: StoreError.self) { try registry.probe() }
        try fixture.server.start()
        try waitUntilItAnswers(registry)
        let record = generator.record()
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        registry.close()
    }

    @Test("of several hosts the one that takes writes is used, and a standby is never")
    func severalHosts() throws {
        let standby = try PostgresServer(["hot_standby=on", "fsync=off"]) { data in
            _ = FileManager.default.createFile(atPath: data + "/standby.signal", contents: nil)
        }
        let registry = try fixture.registry { configuration in
            configuration.connection.hosts = [
                .init(name: "127.0.0.1", port: FreePort.find()),
                .init(name: "localhost", port: standby.port),
                .init(name: self.fixture.server.directory.path, port: self.fixture.server.port),
            ]
        }
        let record = generator.record()
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        registry.close()
        let alone = try fixture.registry { configuration in
            configuration.connection.database = "postgres"
            configuration.connection.hosts = [.init(name: "127.0.0.1", port: standby.port)]
        }
        let error = #expect(throws: StoreError.self) { try alone.probe() }
        #expect(error?.description.contains("standby") == true, "\(error?.description ?? "")")
        alone.close()
    }

    @Test("a server that turns read-only under its sessions is left for another look")
    func turnsReadOnly() throws {
        let registry = try fixture.registry()
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        try fixture.query(
            "ALTER DATABASE \(fixture.database) SET default_transaction_read_only = on")
        try fixture.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'sallyport'
            """)
        var words = ""
        try repeatWhile(!words.contains("read-only")) {
            do { try registry.probe() } catch { words = "\(error)" }
            _ = poll(nil, 0, 10)
        }
        try fixture.server.query(
            "ALTER DATABASE \(fixture.database) SET default_transaction_read_only = off")
        try waitUntilItAnswers(registry)
        #expect(try registry.find(record.keyID) == record)
        registry.close()
    }
}
