import Attestation
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Postgres
import PostgresKeyStore
import Testing

import class EventLoop.Thread

/// A database of a test's own on the server that tests share, or on one of its own.
struct PostgresFixture {
    let server: PostgresServer
    let database: String

    init(_ own: PostgresServer? = nil) throws {
        server = try own ?? PostgresServer.shared.get()
        database = try server.makeDatabase()
    }

    func configuration(
        _ change: (inout PostgresRegistryConfiguration) -> Void = { _ in }
    ) -> PostgresRegistryConfiguration {
        var connection = PostgresConfiguration(
            hosts: [.init(name: "127.0.0.1", port: server.port)])
        connection.user = "postgres"
        connection.database = database
        connection.parameters = ["sslmode": "disable"]
        var configuration = PostgresRegistryConfiguration(connection: connection)
        configuration.poolCount = 2
        change(&configuration)
        return configuration
    }

    func registry(
        _ change: (inout PostgresRegistryConfiguration) -> Void = { _ in }
    ) throws -> PostgresRegistry { try PostgresRegistry(configuration(change)) }

    func administration() throws -> PostgresAdministration {
        try PostgresAdministration(configuration())
    }

    /// Revokes as a command does, on a thread of its own.
    func revoking(
        _ keyIDs: [KeyID]
    ) throws -> Reply<Result<[AdministrationOutcome], StoreError>> {
        let reply = Reply<Result<[AdministrationOutcome], StoreError>>()
        let configuration = configuration()
        _ = try Thread.spawn(name: "revoke") {
            reply.give(
                Result { () throws(StoreError) in
                    try PostgresAdministration(configuration).revoke(keyIDs)
                })
        }
        return reply
    }

    @discardableResult
    func query(_ sql: String) throws -> String { try server.query(sql, database: database) }

    /// Waits until so many sessions in this database are as `condition` of `pg_stat_activity` says.
    func waitForSessions(_ count: Int, _ condition: String) throws {
        let limit = ChildProcess.deadline
        while Date() < limit {
            let found = try query(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND \(condition)
                """)
            if found == "\(count)" { return }
            _ = poll(nil, 0, 10)
        }
        throw PostgresFixtureError(description: "never \(count) sessions: \(condition)")
    }

    /// The process of the first session that is as `condition` says, once there is one.
    func waitForSession(_ condition: String) throws -> pid_t {
        let limit = ChildProcess.deadline
        while Date() < limit {
            let found = try query(
                """
                SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND \(condition) LIMIT 1
                """)
            if let process = pid_t(found) { return process }
            _ = poll(nil, 0, 10)
        }
        throw PostgresFixtureError(description: "never a session: \(condition)")
    }

    /// Ends those sessions, and waits until they have ended.
    func endSessions(_ condition: String) throws {
        try query(
            """
            SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
            WHERE datname = current_database() AND \(condition)
            """)
    }

    /// A transaction that holds what `sql` has locked, until ``letGo()``.
    func hold(_ sql: String) throws -> ChildProcess {
        let holder = try server.session("BEGIN; \(sql); SELECT pg_sleep(3600)", database: database)
        try waitForSessions(1, "wait_event = 'PgSleep'")
        return holder
    }

    func letGo() throws { try endSessions("wait_event = 'PgSleep'") }
}

struct PostgresFixtureError: Error, CustomStringConvertible {
    let description: String
}

/// Waits for changes that a registry tells of.
final class ChangeRecorder: Sendable {
    private let seen = Locked<[RegistryChange]>([])
    private let bell = Bell()

    init(_ registry: any Registry) {
        registry.onChange { [seen, bell] change in
            seen.withLock { $0.append(change) }
            bell.ring()
        }
    }

    /// Waits until the registry reads changes one by one. A change that is made earlier is not
    /// named: the first look takes the table as it is, and tells that everything may have changed.
    ///
    /// A key is enrolled and then revoked, so that there is news if the first look was over before
    /// the recorder was there.
    func waitUntilListening(
        _ registry: PostgresRegistry, to administration: PostgresAdministration,
        _ generator: inout SeededGenerator
    ) throws {
        let record = try registry.enrolAny(&generator)
        #expect(try administration.revoke([record.keyID]) == [.done])
        #expect(wait { !$0.isEmpty })
    }

    /// Waits until `condition` holds of all changes so far; false after
    /// ``ChildProcess/patience``.
    func wait(until condition: ([RegistryChange]) -> Bool) -> Bool {
        bell.wait { condition(seen.withLock { $0 }) }
    }

    func waitForKey(_ keyID: KeyID) -> Bool {
        wait { changes in
            changes.contains { change in
                if case .keys(let keys) = change { keys.contains(keyID) } else { false }
            }
        }
    }
}

/// Rung by other threads, awaited by a test.
final class Bell: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func ring() { semaphore.signal() }

    func wait(until condition: () -> Bool) -> Bool {
        let limit = DispatchTime.now() + .seconds(ChildProcess.patienceSeconds)
        while !condition() {
            guard semaphore.wait(timeout: limit) == .success else { return condition() }
        }
        return true
    }
}
