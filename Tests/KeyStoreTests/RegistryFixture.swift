import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// The registries that the same cases are tried with, each new.
enum RegistryKind: String, CaseIterable, CustomTestStringConvertible {
    case sqlite
    case postgres

    static var installed: [RegistryKind] {
        PostgresServer.isInstalled ? allCases : [.sqlite]
    }

    var testDescription: String { rawValue }
}

/// A registry that several gateways open, and a command.
struct RegistryFixture {
    private let directory: TemporaryDirectory?
    private let postgres: PostgresFixture?

    init(_ store: RegistryKind) throws {
        directory = store == .sqlite ? try TemporaryDirectory() : nil
        postgres = store == .postgres ? try PostgresFixture() : nil
    }

    func registry() throws -> any Registry {
        if let directory { return try SQLiteRegistry(path: directory.registryPath) }
        guard let postgres else { throw NoReply() }
        return try postgres.registry()
    }

    /// As a program of another version would.
    func execute(sqlite: String, postgres statement: String) throws {
        if let directory {
            try Connection(path: directory.registryPath).execute(sqlite)
        } else {
            _ = try postgres?.query(statement)
        }
    }

    func administration() throws -> any RegistryAdministration {
        if let directory { return try SQLiteAdministration(path: directory.registryPath) }
        guard let postgres else { throw NoReply() }
        return try postgres.administration()
    }
}
