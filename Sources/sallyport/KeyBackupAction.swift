import Gateway
import SQLiteKeyStore
import Settings

/// `sallyport keys backup`: a copy of an SQLite registry, whole, while gateways write to it.
enum KeyBackupAction {
    static func run(_ arguments: Arguments, _ settings: Settings) throws {
        guard arguments.operands.count == 1, let target = arguments.operands.first else {
            Exit.usage(KeysCommand.usage)
        }
        guard case .sqlite(let path) = settings.registry else {
            Exit.failed("a PostgreSQL registry is backed up by pg_dump or a base backup")
        }
        let registry = try SQLiteAdministration(path: path)
        let count = try registry.backUp(to: target)
        Console.print("\(target): \(count) keys")
    }
}
