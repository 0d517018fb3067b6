public import Attestation
import Bytes
public import KeyStore
import Postgres

/// A registry in PostgreSQL for the `keys` command: on a connection of its own, beside running
/// gateways, which hear of changes at once.
public final class PostgresAdministration: RegistryAdministration {
    let session: BlockingSession
    public let unaskedServers: [UnaskedServer]
    public var author: AuditAuthor?
    /// True if the session has prepared the statements that only an import needs.
    private var isImportPrepared = false
    var schema: PostgresSchema { session.schema }

    /// Connects. `createsIfMissing`: makes missing tables.
    public init(
        _ configuration: PostgresRegistryConfiguration, createsIfMissing: Bool = false
    ) throws(StoreError) {
        var configuration = configuration
        // An operator would rather wait than try again; an import has long transactions.
        configuration.connection.commandTimeout = .seconds(60)
        do throws(PostgresOpenError) {
            let newest = try BlockingSession.withNewestPrimary(
                configuration, tables: createsIfMissing ? .made : .required)
            session = newest.session
            unaskedServers = newest.unasked
        } catch {
            throw error.reason
        }
    }

    public func find(_ keyID: KeyID) throws(StoreError) -> KeyRecord? {
        let outcomes = try session.runAll([
            .statement(
                "\(schema.selectWhole(receipts: true)) WHERE key_id = $1",
                RegistryRows.value(keyID))
        ])
        guard let rows = outcomes.first?.rows, rows.count == 1 else { return nil }
        return try RegistryRows.wholeRecord(rows, 0, withReceipt: true)
    }

    public func list(
        _ filter: KeyFilter, withReceipts: Bool
    ) throws(StoreError) -> [KeyRecord] {
        var conditions = ["key_id > $1"]
        var values: [PostgresValue] = [.bytes(filter.after?.digest.array ?? [])]
        func require(_ column: String, _ value: PostgresValue, _ type: String) {
            values.append(value)
            conditions.append("\(column) = $\(values.count)::\(type)")
        }
        if let appID = filter.appID { require("app_id", .text(appID), "text") }
        if let environment = filter.environment {
            require("environment", .integer(environment.code), "bigint")
        }
        // As a literal, because the index has only keys of some statuses.
        if let status = filter.status { conditions.append("status = \(status.code)") }
        values.append(.integer(Int64(max(0, filter.countMax))))
        let outcomes = try session.runAll([
            .statement(
                """
                \(schema.selectWhole(receipts: withReceipts))
                WHERE \(conditions.joined(separator: " AND "))
                ORDER BY key_id LIMIT $\(values.count)
                """, values)
        ])
        guard let rows = outcomes.first?.rows else { return [] }
        var records: [KeyRecord] = []
        for row in 0..<rows.count {
            records.append(
                try RegistryRows.wholeRecord(rows, row, withReceipt: withReceipts))
        }
        return records
    }

    public func revoke(_ keyIDs: [KeyID]) throws(StoreError) -> [AdministrationOutcome] {
        try change(keyIDs, .revokeKey) { status in
            status == .active ? schema.revoke : []
        }
    }

    public func erase(_ keyIDs: [KeyID]) throws(StoreError) -> [AdministrationOutcome] {
        try change(keyIDs, .eraseKey) { status in
            status == .erased ? [] : schema.erase
        }
    }

    public func counts() throws(StoreError) -> [KeyCount] {
        let outcomes = try session.runAll([
            .statement(
                """
                SELECT app_id, environment, status, count(*) FROM \(schema.table("keys"))
                GROUP BY app_id, environment, status ORDER BY 1, 2, 3
                """)
        ])
        guard let rows = outcomes.first?.rows else { return [] }
        return (0..<rows.count).compactMap { row in
            guard let environment = rows.integer(row, 1).flatMap(AttestEnvironment.init(code:)),
                let status = rows.integer(row, 2).flatMap(KeyStatus.init(code:))
            else { return nil }
            return KeyCount(
                appID: rows.text(row, 0) ?? "", environment: environment, status: status,
                count: Int(rows.integer(row, 3) ?? 0))
        }
    }

    // MARK: changing

    /// Changes keys in one transaction: locks the rows in the order of their ids, then runs the
    /// statements that `steps` returns for each, with the id as their only value.
    private func change(
        _ keyIDs: [KeyID], _ action: AuditAction, _ steps: (KeyStatus) -> [String]
    ) throws(StoreError) -> [AdministrationOutcome] {
        let ordered = Set(keyIDs).sorted { $0.digest < $1.digest }
        return try transaction { () throws(StoreError) in
            let statuses = try lock(ordered)
            var requests: [PostgresRequest] = []
            var changed: [KeyID] = []
            var outcomes: [KeyID: AdministrationOutcome] = [:]
            for keyID in ordered {
                guard let status = statuses[keyID] else {
                    outcomes[keyID] = .unknownKey
                    continue
                }
                let todo = steps(status)
                outcomes[keyID] = todo.isEmpty ? .unchanged : .done
                guard !todo.isEmpty else { continue }
                changed.append(keyID)
                requests += todo.map { .statement($0, RegistryRows.value(keyID)) }
            }
            var first: Set<KeyID> = []
            let told = keyIDs.map { keyID in
                let outcome = outcomes[keyID] ?? .unknownKey
                // A key that is named twice has changed by its second mention.
                return first.insert(keyID).inserted || outcome != .done ? outcome : .unchanged
            }
            let notes = zip(keyIDs, told).map { keyID, outcome in
                AuditNote(action, keyID.base64, outcome: outcome.word)
            }
            _ = try session.runAll(
                requests + noting(changed) + auditing(notes) + [.statement("COMMIT")])
            return told
        }
    }

    /// Locks the rows, and returns the statuses of the known keys.
    private func lock(_ keyIDs: [KeyID]) throws(StoreError) -> [KeyID: KeyStatus] {
        let outcomes = try session.runAll(
            [.statement(PostgresSchema.begin)]
                + keyIDs.map { .statement(schema.lockKey, RegistryRows.value($0)) })
        var statuses: [KeyID: KeyStatus] = [:]
        for (keyID, outcome) in zip(keyIDs, outcomes.dropFirst()) {
            guard let rows = outcome.rows, rows.count == 1 else { continue }
            statuses[keyID] = rows.integer(0, 0).flatMap(KeyStatus.init(code:))
        }
        return statuses
    }

    /// The most changed keys of a transaction that are named to gateways one by one.
    private static let namedChangeCountMax = 500

    private func noting(_ keyIDs: [KeyID]) -> [PostgresRequest] {
        guard !keyIDs.isEmpty else { return [] }
        let notes: [PostgresRequest] =
            keyIDs.count > Self.namedChangeCountMax
            ? [.statement(schema.noteChange, .null)]
            : keyIDs.map { .statement(schema.noteChange, RegistryRows.value($0)) }
        return notes + [
            .statement(schema.pruneChanges), .statement(PostgresSchema.notify),
        ]
    }

    /// Runs `body` in a transaction. A failure leaves none open.
    func transaction<Value>(
        _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            _ = try? session.run([.statement("ROLLBACK")])
            throw error
        }
    }

    public func readShared(_ name: String) throws(StoreError) -> SharedReading {
        let outcomes = try session.runAll([.prepared(PostgresSchema.shared, .text(name))])
        guard let rows = outcomes.first?.rows else { throw StoreError("registry: no answer") }
        return try RegistryRows.shared(name, rows)
    }

    public func writeShared(
        _ write: SharedWrite, noting note: AuditNote?
    ) throws(StoreError) -> SharedOutcome {
        if let problem = write.problem { throw problem }
        return try transaction { () throws(StoreError) in
            let outcomes = try session.runAll(
                [.statement(PostgresSchema.begin)] + RegistryRows.requests(write))
            let outcome = try RegistryRows.outcome(of: write, outcomes.dropFirst())
            let notes = outcome.isWritten ? [note].compactMap(\.self) : []
            _ = try session.runAll(auditing(notes) + [.statement("COMMIT")])
            return outcome
        }
    }

    // MARK: receipts

    public func renewReceipts(
        of keyIDs: [KeyID], at now: Int64
    ) throws(StoreError) -> [RenewalOrderOutcome] {
        let ordered = Set(keyIDs).sorted { $0.digest < $1.digest }
        let renewals = RenewalStatements(schema: schema)
        return try transaction { () throws(StoreError) in
            let statuses = try lock(ordered)
            let active = ordered.filter { statuses[$0] == .active }
            let steps = try session.runAll(
                active.flatMap { keyID -> [PostgresRequest] in
                    let value = RegistryRows.value(keyID)
                    return [
                        .statement(renewals.makeDue, value, .integer(now)),
                        .statement(renewals.isKnown, value),
                    ]
                })
            var outcomes: [KeyID: RenewalOrderOutcome] = [:]
            for (index, keyID) in active.enumerated() {
                let isKnown = steps[index * 2 + 1].rows?.count == 1
                let dueAt = steps[index * 2].rows.flatMap {
                    $0.count == 1 ? $0.integer(0, 0) : nil
                }
                outcomes[keyID] =
                    dueAt.map { .due(at: $0) } ?? (isKnown ? .wasDue : .noReceipt)
            }
            let told = keyIDs.map { keyID in
                outcomes[keyID] ?? (statuses[keyID] == nil ? .unknownKey : .notActive)
            }
            _ = try session.runAll(
                auditing([AuditNote(renewing: keyIDs, told)]) + [.statement("COMMIT")])
            return told
        }
    }

    // MARK: importing

    public var transactionCountMax: Int { 1000 }

    public func write(_ records: ArraySlice<KeyRecord>) throws(StoreError) -> ImportedRecords {
        // Locked in the order of their ids, as all writers do; the first mention of a key counts.
        let records = records.enumerated().sorted {
            ($0.element.keyID.digest, $0.offset) < ($1.element.keyID.digest, $1.offset)
        }.map(\.element)
        if !isImportPrepared {
            _ = try session.runAll(schema.importPreparations)
            isImportPrepared = true
        }
        return try transaction { () throws(StoreError) in
            var written = ImportedRecords()
            let inserted = try session.runAll(
                [.statement(PostgresSchema.begin)]
                    + records.map {
                        .prepared(PostgresSchema.importKey, RegistryRows.values($0))
                    })
            let rest = zip(records, inserted.dropFirst()).filter { $1.rows?.count == 0 }.map(\.0)
            written.summary.addedCount = records.count - rest.count
            let requests = try tighten(rest, &written)
            let notes = [AuditNote(written.summary)].compactMap(\.self)
            _ = try session.runAll(
                requests + noting(written.changed) + auditing(notes) + [.statement("COMMIT")])
            return written
        }
    }

    /// Makes records that already exist stricter.
    private func tighten(
        _ records: [KeyRecord], _ written: inout ImportedRecords
    ) throws(StoreError) -> [PostgresRequest] {
        guard !records.isEmpty else { return [] }
        _ = try session.runAll(
            records.map { .prepared(PostgresSchema.lockKey, RegistryRows.value($0.keyID)) })
        let found = try session.runAll(
            records.map { .prepared(PostgresSchema.find, RegistryRows.value($0.keyID)) })
        var requests: [PostgresRequest] = []
        for (record, outcome) in zip(records, found) {
            guard let rows = outcome.rows, rows.count == 1 else { continue }
            let known = try RegistryRows.placedRecord(rows, 0)
            if let conflict = ImportConflict(record, with: known) {
                written.conflicts.append((record.keyID, conflict))
                continue
            }
            let steps = stricter(record, than: known)
            if steps.isEmpty {
                written.summary.unchangedCount += 1
            } else {
                written.summary.tightenedCount += 1
                written.changed.append(record.keyID)
                requests += steps
            }
        }
        return requests
    }

    private func stricter(_ record: KeyRecord, than known: KeyRecord) -> [PostgresRequest] {
        let keyID = RegistryRows.value(record.keyID)
        var steps: [PostgresRequest] = []
        if record.counterFloor > known.counterFloor {
            steps.append(
                .prepared(PostgresSchema.raiseFloor, keyID, .integer(Int64(record.counterFloor))))
        }
        if record.status == .revoked, known.status == .active {
            steps += schema.revoke.map { .statement($0, keyID) }
        } else if record.status == .erased, known.status != .erased {
            steps += schema.erase.map { .statement($0, keyID) }
        }
        return steps
    }
}
