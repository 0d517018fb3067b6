import Attestation
import Bytes
import Foundation
import GatewayTesting
import KeyStore
import Postgres
import PostgresKeyStore
import Testing

/// Servers that stand for one another behind one address: a standby was promoted, and the old
/// primary lives on.
@Suite(
    "A PostgreSQL registry with two primaries", .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(30)))
final class PostgresLineageTests {
    private let old: PostgresServer
    private let fixture: PostgresFixture
    private let relay: CuttingRelay
    private var generator = SeededGenerator(seed: 81)

    init() throws {
        old = try PostgresServer()
        fixture = try PostgresFixture(old)
        relay = try CuttingRelay(to: old.port)
    }
}

extension PostgresLineageTests {
    /// For what no event tells of.
    private func isReached(_ condition: () throws -> Bool) rethrows -> Bool {
        let limit = ChildProcess.deadline
        while Date() < limit {
            if try condition() { return true }
            _ = poll(nil, 0, 10)
        }
        return false
    }

    private func configuration(port: UInt16) -> PostgresRegistryConfiguration {
        fixture.configuration { $0.connection.hosts = [.init(name: "127.0.0.1", port: port)] }
    }

    /// With sessions at the old primary, and a key that it knows.
    private func registry(_ known: KeyRecord) throws -> PostgresRegistry {
        let registry = try PostgresRegistry(configuration(port: relay.port))
        #expect(try registry.enrol(known, challenge: generator.bytes16()) == .enrolled)
        return registry
    }

    /// A recorder of a registry that has begun to read the changes of the old primary.
    private func recorder(of registry: PostgresRegistry) throws -> ChangeRecorder {
        let recorder = ChangeRecorder(registry)
        try recorder.waitUntilListening(registry, to: fixture.administration(), &generator)
        return recorder
    }

    /// A primary with all that the old one knows, to which new sessions lead from now on.
    private func promoteAnother() throws -> PostgresServer {
        let new = try PostgresServer(following: old)
        try new.promote()
        relay.turn(to: new.port)
        return new
    }

    /// Whose sessions the old server is to end.
    private enum Sessions: String {
        case listener = "LIKE"
        case pool = "NOT LIKE"
    }

    /// Waits until the old server has so many; the one that listens is the one that reads changes.
    private func waitFor(_ sessions: Sessions, count: Int) throws {
        let isThere = try isReached {
            try old.query(
                """
                SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sallyport'
                    AND query \(sessions.rawValue) '%WHERE revision >=%'
                """) == "\(count)"
        }
        #expect(isThere)
    }

    /// Ends those that are left: the registry looks for a newer primary by itself, too.
    private func end(_ sessions: Sessions) throws {
        let ofThem =
            "application_name = 'sallyport' AND query \(sessions.rawValue) '%WHERE revision >=%'"
        try old.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(ofThem)")
    }

    private func waitForSession(at server: PostgresServer) throws {
        let isThere = try isReached {
            try server.query(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sallyport'")
                != "0"
        }
        #expect(isThere, "no session came")
    }

    /// Asks until the registry answers.
    private func find(_ keyID: KeyID, in registry: PostgresRegistry) throws -> KeyRecord? {
        var found: KeyRecord?
        let isThere = isReached {
            found = try? registry.find(keyID)
            return found != nil
        }
        #expect(isThere, "the registry did not come back")
        return found
    }

    /// What the registry says in the end of why it cannot be asked; nil where it answers.
    private func refusal(of registry: PostgresRegistry, about word: String) -> String? {
        var words: String? = ""
        _ = isReached {
            do {
                try registry.probe()
                words = nil
            } catch {
                words = "\(error)"
            }
            return words?.contains(word) != false
        }
        return words
    }

    @Test("news of a new primary end every session with the old one")
    func newsOfNewPrimary() throws {
        let record = generator.record()
        let registry = try registry(record)
        let recorder = try recorder(of: registry)
        try waitFor(.listener, count: 1)
        let new = try promoteAnother()
        try end(.listener)
        try waitForSession(at: new)
        let administration = try PostgresAdministration(configuration(port: new.port))
        #expect(try administration.revoke([record.keyID]) == [.done])
        #expect(recorder.waitForKey(record.keyID))
        #expect(try find(record.keyID, in: registry)?.status == .revoked)
        let late = generator.record()
        #expect(try registry.enrol(late, challenge: generator.bytes16()) == .enrolled)
        let count = try new.query(
            "SELECT count(*) FROM sallyport.keys WHERE status = 0", database: fixture.database)
        #expect(count == "1")
        registry.close()
    }

    @Test("a look-up at a new primary ends listening to the old one")
    func lookUpAtNewPrimary() throws {
        let record = generator.record()
        let registry = try registry(record)
        let recorder = try recorder(of: registry)
        // Whatever connects later is led to the new one.
        try waitFor(.pool, count: 2)
        let new = try promoteAnother()
        try end(.pool)
        try waitForSession(at: new)
        let administration = try PostgresAdministration(configuration(port: new.port))
        #expect(try administration.revoke([record.keyID]) == [.done])
        #expect(recorder.waitForKey(record.keyID))
        registry.close()
    }

    @Test("an old primary is refused once a newer one was seen")
    func oldPrimaryRefused() throws {
        let record = generator.record()
        let registry = try registry(record)
        let new = try promoteAnother()
        relay.cut()
        try waitForSession(at: new)
        #expect(try find(record.keyID, in: registry) == record)
        relay.turn(to: old.port)
        relay.cut()
        let words = try #require(refusal(of: registry, about: "timeline"))
        #expect(words.contains("timeline 1") && words.contains("timeline 2"), "\(words)")
        relay.turn(to: new.port)
        #expect(try find(record.keyID, in: registry) == record)
        registry.close()
    }

    @Test("another cluster is refused, whatever its tables hold")
    func otherClusterRefused() throws {
        let record = generator.record()
        let registry = try registry(record)
        let other = try PostgresServer.unrelated()
        let imitation = try PostgresFixture(other)
        #expect(imitation.database == fixture.database)
        _ = try PostgresAdministration(configuration(port: other.port), createsIfMissing: true)
        relay.turn(to: other.port)
        relay.cut()
        let words = try #require(refusal(of: registry, about: "system identifier"))
        #expect(words.contains("another cluster"), "\(words)")
        relay.turn(to: old.port)
        #expect(try find(record.keyID, in: registry) == record)
        registry.close()
    }

    @Test("where one name leads to a new primary, sessions with the old one end by themselves")
    func nameLeadsElsewhere() throws {
        let record = generator.record()
        let registry = try registry(record)
        let recorder = try recorder(of: registry)
        let new = try promoteAnother()
        let administration = try PostgresAdministration(configuration(port: new.port))
        #expect(try administration.revoke([record.keyID]) == [.done])
        #expect(recorder.waitForKey(record.keyID))
        #expect(try find(record.keyID, in: registry)?.status == .revoked)
        registry.close()
    }

    /// Both servers, the old one first.
    private func configuration(also standby: PostgresServer) -> PostgresRegistryConfiguration {
        var named = configuration(port: old.port)
        named.connection.hosts.append(.init(name: "127.0.0.1", port: standby.port))
        return named
    }

    /// Not before the standby has all that it is to go on from.
    private func waitForStandby() throws {
        let hasAll = try isReached {
            try old.query(
                "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()")
                == "1"
        }
        #expect(hasAll)
    }

    @Test("a command knows which named servers did not tell whether they have taken over")
    func unaskedServers() throws {
        _ = try PostgresAdministration(configuration(port: old.port), createsIfMissing: true)
        let new = try PostgresServer(following: old)
        let named = configuration(also: new)
        func unasked() throws -> [String] {
            try PostgresAdministration(named).unaskedServers.map(\.address)
        }
        // A standby, a newer primary, and an old one have told.
        #expect(try unasked() == [])
        try new.promote()
        #expect(try unasked() == [])
        var turned = named
        turned.connection.hosts.reverse()
        #expect(try PostgresAdministration(turned).unaskedServers.isEmpty)
        try new.terminate()
        #expect(try unasked() == ["127.0.0.1:\(new.port)"])
        // One that only lets nobody in has not told either.
        try new.start()
        var locked = named
        locked.connection.user = "nobody"
        try old.query("CREATE ROLE nobody LOGIN SUPERUSER")
        #expect(
            try PostgresAdministration(locked).unaskedServers.map(\.address)
                == ["127.0.0.1:\(new.port)"])
    }

    @Test("a newer primary that cannot be used does not lead commands back to the old one")
    func unusableNewPrimary() throws {
        _ = try PostgresAdministration(configuration(port: old.port), createsIfMissing: true)
        let new = try PostgresServer(following: old)
        var named = configuration(also: new)
        try new.promote()
        try new.query("DROP SCHEMA sallyport CASCADE", database: fixture.database)
        for _ in 0..<2 {
            #expect(throws: StoreError("registry: there are no tables in schema sallyport")) {
                _ = try PostgresAdministration(named)
            }
            named.connection.hosts.reverse()
        }
    }

    @Test("a new primary is found although the old one has stopped answering")
    func oldPrimaryHangs() throws {
        let record = generator.record()
        let new = try PostgresServer(following: old)
        var named = configuration(also: new)
        // Whoever waits for the old one waits for ever.
        named.connection.connectTimeout = .seconds(1000)
        let registry = try PostgresRegistry(named)
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        let recorder = try recorder(of: registry)
        try waitForStandby()
        old.stop()
        defer { old.resume() }
        try new.promote()
        let administration = try PostgresAdministration(configuration(port: new.port))
        #expect(try administration.revoke([record.keyID]) == [.done])
        #expect(recorder.waitForKey(record.keyID))
        #expect(try find(record.keyID, in: registry)?.status == .revoked)
        registry.close()
    }

    @Test("of two primaries that are named the newer one is found, by gateways and by commands")
    func bothNamed() throws {
        let record = generator.record()
        let new = try PostgresServer(following: old)
        let named = configuration(also: new)
        let registry = try PostgresRegistry(named)
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        let recorder = try recorder(of: registry)
        try waitForStandby()
        try new.promote()
        #expect(try PostgresAdministration(named).revoke([record.keyID]) == [.done])
        // One more was revoked before.
        let revoked = "SELECT count(*) FROM sallyport.keys WHERE status = 1"
        #expect(try new.query(revoked, database: fixture.database) == "2")
        #expect(try old.query(revoked, database: fixture.database) == "1")
        #expect(recorder.waitForKey(record.keyID))
        #expect(try find(record.keyID, in: registry)?.status == .revoked)
        registry.close()
    }
}
