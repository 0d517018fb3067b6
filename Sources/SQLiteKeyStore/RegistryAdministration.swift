public import AppAttest
import Bytes
public import KeyStore
import SQLite

/// Which keys an operator asks for.
public struct KeyFilter: Hashable, Sendable {
    public var appID: String?
    public var environment: AttestEnvironment?
    public var status: KeyStatus?
    /// Only keys behind this one: the last one of the page before.
    public var after: KeyID?
    public var countMax = 1000

    public init() {}
}

/// What became of a revocation or an erasure.
public enum AdministrationOutcome: Hashable, Sendable {
    case done
    /// The key was that already, or erased.
    case unchanged
    case unknownKey
}

/// Keys of one app, environment and status.
public struct KeyCount: Hashable, Sendable {
    public let appID: String
    public let environment: AttestEnvironment
    public let status: KeyStatus
    public let count: Int
}

/// The registry for the `keys` command: synchronous, on a connection of its own, beside a gateway
/// that runs. A running gateway hears of changes within a quarter of a second. One thread.
public final class RegistryAdministration {
    let tables: RegistryTables

    public init(path: String, createsIfMissing: Bool = false) throws(RegistryOpenError) {
        var options = Connection.Options()
        // An operator rather waits than tries again.
        options.busyMillisecondsMax = 30_000
        options.cacheByteCount = 64 * 1024 * 1024
        tables = try RegistryFile.open(
            path: path, createsIfMissing: createsIfMissing, options: options)
    }

    /// The record with its receipt, nil where the key is not known.
    public func find(_ keyID: KeyID) throws(StoreError) -> KeyRecord? {
        try attempt { () throws(SQLiteError) in try tables.find(keyID, withReceipt: true) }
    }

    /// One page in the order of key ids, without receipts.
    public func list(_ filter: KeyFilter) throws(StoreError) -> [KeyRecord] {
        try attempt { () throws(SQLiteError) in try page(filter) }
    }

    /// Hands over every key that fits, page by page, without receipts; `countMax` is ignored. Keys
    /// that change meanwhile appear as they were or as they are; none appears twice.
    public func export<Failure: Error>(
        _ filter: KeyFilter, _ body: (KeyRecord) throws(Failure) -> Void
    ) throws(ExportError<Failure>) {
        var filter = filter
        filter.countMax = 1000
        while true {
            let records: [KeyRecord]
            do throws(StoreError) {
                records = try list(filter)
            } catch {
                throw .store(error)
            }
            for record in records {
                do throws(Failure) { try body(record) } catch { throw .receiver(error) }
            }
            guard let last = records.last else { return }
            filter.after = last.keyID
        }
    }

    /// Refuses the keys from now on. Durable when it returns; all of them or none.
    public func revoke(_ keyIDs: [KeyID]) throws(StoreError) -> [AdministrationOutcome] {
        try change(keyIDs) { keyID throws(SQLiteError) in
            guard let known = try self.tables.find(keyID, withReceipt: false) else {
                return .unknownKey
            }
            guard known.status == .active else { return .unchanged }
            return try self.tables.setStatus(keyID, .revoked) ? .done : .unknownKey
        }
    }

    /// Deletes everything about the keys but their ids and counters, so that they can neither be
    /// used nor enrol again. Durable when it returns; all of them or none.
    public func erase(_ keyIDs: [KeyID]) throws(StoreError) -> [AdministrationOutcome] {
        let outcomes = try change(keyIDs) { keyID throws(SQLiteError) in
            guard let known = try self.tables.find(keyID, withReceipt: false) else {
                return .unknownKey
            }
            guard known.status != .erased else { return .unchanged }
            try self.tables.erase(keyID)
            return .done
        }
        // What was erased leaves the log too; a reader in the way only delays that.
        _ = try? tables.connection.text("PRAGMA wal_checkpoint(TRUNCATE)")
        return outcomes
    }

    /// How many keys there are of each kind. Reads the whole table.
    public func counts() throws(StoreError) -> [KeyCount] {
        try attempt { () throws(SQLiteError) in
            let statement = try tables.connection.prepare(
                """
                SELECT coalesce(name, ''), environment, status, count(*)
                FROM keys LEFT JOIN apps ON apps.id = keys.app
                GROUP BY app, environment, status ORDER BY 1, 2, 3
                """)
            var counts: [KeyCount] = []
            while try statement.step() {
                guard let environment = AttestEnvironment(code: statement.integer(1)),
                    let status = KeyStatus(code: statement.integer(2))
                else { continue }
                counts.append(
                    KeyCount(
                        appID: statement.text(0) ?? "", environment: environment, status: status,
                        count: Int(statement.integer(3))))
            }
            return counts
        }
    }

    // MARK: parts

    private func change(
        _ keyIDs: [KeyID], _ step: (KeyID) throws(SQLiteError) -> AdministrationOutcome
    ) throws(StoreError) -> [AdministrationOutcome] {
        try attempt { () throws(SQLiteError) in
            try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                var outcomes: [AdministrationOutcome] = []
                for keyID in keyIDs {
                    let outcome = try step(keyID)
                    outcomes.append(outcome)
                    if outcome == .done { try tables.note(changeOf: keyID) }
                }
                try tables.pruneOldChanges()
                return outcomes
            }
        }
    }

    private func page(_ filter: KeyFilter) throws(SQLiteError) -> [KeyRecord] {
        var conditions = ["key_id > ?1"]
        var app: Int64?
        if let appID = filter.appID {
            guard let number = try tables.existingAppNumber(appID) else { return [] }
            app = number
            conditions.append("app = ?2")
        }
        if filter.environment != nil { conditions.append("environment = ?3") }
        if filter.status != nil { conditions.append("status = ?4") }
        let statement = try tables.connection.prepare(
            """
            SELECT \(RegistryTables.keyColumns) FROM keys
            WHERE \(conditions.joined(separator: " AND ")) ORDER BY key_id LIMIT ?5
            """)
        try statement.bind(1, blob: filter.after?.digest.array ?? [])
        if let app { try statement.bind(2, app) }
        if let environment = filter.environment { try statement.bind(3, environment.code) }
        if let status = filter.status { try statement.bind(4, status.code) }
        try statement.bind(5, Int64(max(0, filter.countMax)))
        var records: [KeyRecord] = []
        while try statement.step() { records.append(try tables.record(of: statement)) }
        return records
    }

    func attempt<Value>(_ body: () throws(SQLiteError) -> Value) throws(StoreError) -> Value {
        do throws(SQLiteError) { return try body() } catch { throw StoreError(error) }
    }
}

/// Why an export ended early.
public enum ExportError<Failure: Error>: Error {
    case store(StoreError)
    /// The receiver's own error.
    case receiver(Failure)
}
