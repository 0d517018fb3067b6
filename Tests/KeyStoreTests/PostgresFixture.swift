import AppAttest
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Postgres
import PostgresKeyStore

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

    @discardableResult
    func query(_ sql: String) throws -> String { try server.query(sql, database: database) }
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

    /// Waits until `condition` holds of all changes so far; false after thirty seconds.
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
        let limit = DispatchTime.now() + 30
        while !condition() {
            guard semaphore.wait(timeout: limit) == .success else { return condition() }
        }
        return true
    }
}
