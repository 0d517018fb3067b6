public import Attestation
import Bytes
public import KeyStore
import SQLite

/// A registry file for the `keys` command: on a connection of its own, beside a running gateway,
/// which hears of changes within a second.
public final class SQLiteAdministration: RegistryAdministration {
    let tables: RegistryTables
    let auditTable: AuditTable
    public var author: AuditAuthor?

    public init(path: String, createsIfMissing: Bool = false) throws(RegistryOpenError) {
        var options = Connection.Options()
        // An operator would rather wait than try again.
        options.busyMillisecondsMax = 30_000
        options.cacheByteCount = 64 * 1024 * 1024
        tables = try RegistryFile.open(
            path: path, createsIfMissing: createsIfMissing, options: options)
        do throws(SQLiteError) {
            auditTable = try AuditTable(tables.connection)
        } catch {
            throw RegistryOpenError(error, path: path)
        }
    }

    public func find(_ keyID: KeyID) throws(StoreError) -> KeyRecord? {
        try attempt { () throws(SQLiteError) in try tables.find(keyID, withReceipt: true) }
    }

    public func list(
        _ filter: KeyFilter, withReceipts: Bool
    ) throws(StoreError) -> [KeyRecord] {
        try attempt { () throws(SQLiteError) in
            var records = try page(filter)
            for index in records.indices {
                records[index].receiptState = try tables.renewals.state(
                    of: records[index].keyID)
                records[index].certificates = try tables.certificates.serials(
                    of: records[index].keyID)
                records[index].succession = try tables.installations.succession(
                    of: records[index].keyID)
                guard withReceipts else { continue }
                records[index].receipt = try tables.receipt(of: records[index])
            }
            return records
        }
    }

    public func revoke(_ keyIDs: [KeyID]) throws(StoreError) -> [AdministrationOutcome] {
        try change(keyIDs, .revokeKey) { keyID throws(SQLiteError) in
            guard let known = try self.tables.find(keyID, withReceipt: false) else {
                return .unknownKey
            }
            guard known.status == .active else { return .unchanged }
            return try self.tables.setStatus(keyID, .revoked) ? .done : .unknownKey
        }
    }

    public func erase(_ keyIDs: [KeyID]) throws(StoreError) -> [AdministrationOutcome] {
        let outcomes = try change(keyIDs, .eraseKey) { keyID throws(SQLiteError) in
            guard let known = try self.tables.find(keyID, withReceipt: false) else {
                return .unknownKey
            }
            guard known.status != .erased else { return .unchanged }
            try self.tables.erase(keyID)
            return .done
        }
        // Erased data leaves the log too; a reader in the way only delays that.
        _ = try? tables.connection.text("PRAGMA wal_checkpoint(TRUNCATE)")
        return outcomes
    }

    public func renewReceipts(
        of keyIDs: [KeyID], at now: Int64
    ) throws(StoreError) -> [RenewalOrderOutcome] {
        try attempt { () throws(SQLiteError) in
            try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                var outcomes: [RenewalOrderOutcome] = []
                for keyID in keyIDs {
                    switch try tables.find(keyID, withReceipt: false)?.status {
                    case .active: outcomes.append(try tables.renewals.makeDue(keyID, at: now))
                    case .revoked, .erased: outcomes.append(.notActive)
                    case nil: outcomes.append(.unknownKey)
                    }
                }
                try auditTable.append([AuditNote(renewing: keyIDs, outcomes)], by: author)
                return outcomes
            }
        }
    }

    public func activeKeys(
        under serials: [String], after: KeyID?, countMax: Int
    ) throws(StoreError) -> [KeyID] {
        try attempt { () throws(SQLiteError) in
            try tables.certificates.activeKeys(under: serials, after: after, countMax: countMax)
        }
    }

    public func newerKeys(than keyIDs: [KeyID]) throws(StoreError) -> [KeyID: NewerKey] {
        try attempt { () throws(SQLiteError) in
            var newer: [KeyID: NewerKey] = [:]
            for keyID in keyIDs { newer[keyID] = try tables.newerKey(than: keyID) }
            return newer
        }
    }

    public func users(of keyID: KeyID) throws(StoreError) -> [KeyUser] {
        try attempt { () throws(SQLiteError) in try tables.users.users(of: keyID) }
    }

    public func keys(of user: UserPseudonym) throws(StoreError) -> [KeyUser] {
        try attempt { () throws(SQLiteError) in try tables.users.keys(of: user) }
    }

    public func forget(_ user: UserPseudonym) throws(StoreError) {
        try attempt { () throws(SQLiteError) in
            try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                try tables.users.forget(user)
                let keyCount = tables.connection.changeCount
                guard keyCount > 0 else { return }
                try auditTable.append([AuditNote(forgettingUserOf: keyCount)], by: author)
            }
        }
        _ = try? tables.connection.text("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Reads the whole table, and counts each row here. SQLite would sort a copy of it in memory to
    /// group it, which took 0.8 GiB for ten million keys.
    public func counts() throws(StoreError) -> [KeyCount] {
        try attempt { () throws(SQLiteError) in
            let statement = try tables.connection.prepare(Self.countedSQL)
            var counts: [KeyGroup: Int] = [:]
            var (last, run) = (KeyGroup(app: 0, environment: 0, status: 0), 0)
            while try statement.step() {
                let group = KeyGroup(
                    app: statement.integer(0), environment: statement.integer(1),
                    status: statement.integer(2))
                if group != last {
                    counts[last, default: 0] += run
                    (last, run) = (group, 0)
                }
                run += 1
            }
            counts[last, default: 0] += run
            var found: [KeyCount] = []
            for (group, number) in counts where number > 0 {
                if let count = try count(group, number) { found.append(count) }
            }
            return found.sorted(by: precedes)
        }
    }

    package static let countedSQL = "SELECT app, environment, status FROM keys"

    private struct KeyGroup: Hashable {
        let app: Int64
        let environment: Int64
        let status: Int64
    }

    private func count(_ group: KeyGroup, _ count: Int) throws(SQLiteError) -> KeyCount? {
        guard let environment = AttestEnvironment(code: group.environment),
            let status = KeyStatus(code: group.status)
        else { return nil }
        return KeyCount(
            appID: try tables.appName(group.app), environment: environment, status: status,
            count: count)
    }

    private func precedes(_ left: KeyCount, _ right: KeyCount) -> Bool {
        (left.appID, left.environment.code, left.status.code)
            < (right.appID, right.environment.code, right.status.code)
    }

    public func readShared(_ name: String) throws(StoreError) -> SharedReading {
        try attempt { () throws(SQLiteError) in try tables.shared(name) }
    }

    public func writeShared(
        _ write: SharedWrite, noting note: AuditNote?
    ) throws(StoreError) -> SharedOutcome {
        if let problem = write.problem { throw problem }
        return try attempt { () throws(SQLiteError) in
            try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                let outcome = try tables.write(write)
                if let note, outcome.isWritten { try auditTable.append([note], by: author) }
                return outcome
            }
        }
    }

    public func append(_ note: AuditNote) throws(StoreError) {
        try attempt { () throws(SQLiteError) in
            try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                try auditTable.append([note], by: author)
            }
        }
    }

    public func audit(_ filter: AuditFilter) throws(StoreError) -> [AuditEntry] {
        try attempt { () throws(SQLiteError) in try auditTable.entries(filter) }
    }

    // MARK: parts

    private func change(
        _ keyIDs: [KeyID], _ action: AuditAction,
        _ step: (KeyID) throws(SQLiteError) -> AdministrationOutcome
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
                let notes = zip(keyIDs, outcomes).map { keyID, outcome in
                    AuditNote(action, keyID.base64, outcome: outcome.word)
                }
                try auditTable.append(notes, by: author)
                return outcomes
            }
        }
    }

    private func page(_ filter: KeyFilter) throws(SQLiteError) -> [KeyRecord] {
        var app: Int64?
        if let appID = filter.appID {
            guard let number = try tables.existingAppNumber(appID) else { return [] }
            app = number
        }
        let statement = try tables.connection.prepare(Self.pageSQL(filter))
        try statement.bind(1, blob: filter.after?.digest.array ?? [])
        if let app { try statement.bind(2, app) }
        if let environment = filter.environment { try statement.bind(3, environment.code) }
        try statement.bind(4, Int64(max(0, filter.countMax)))
        var records: [KeyRecord] = []
        while try statement.step() { records.append(try tables.record(of: statement)) }
        return records
    }

    /// The statement of one page: ?1 is the key before it, ?2 the number of the app, ?3 the code of
    /// the environment, ?4 the number of keys.
    package static func pageSQL(_ filter: KeyFilter) -> String {
        var conditions = ["key_id > ?1"]
        if filter.appID != nil { conditions.append("app = ?2") }
        if filter.environment != nil { conditions.append("environment = ?3") }
        var index = ""
        if let status = filter.status {
            conditions.append("status = \(status.code)")
            if status != .active {
                // SQLite does not conclude this by itself, nor does it know that such keys are few.
                conditions.append("status <> \(KeyStatus.active.code)")
                index = "INDEXED BY keys_inactive"
            }
        }
        return """
            SELECT \(RegistryTables.keyColumns) FROM keys \(index)
            WHERE \(conditions.joined(separator: " AND ")) ORDER BY key_id LIMIT ?4
            """
    }

    func attempt<Value>(_ body: () throws(SQLiteError) -> Value) throws(StoreError) -> Value {
        do throws(SQLiteError) { return try body() } catch {
            throw StoreError(error, path: tables.connection.path)
        }
    }
}
