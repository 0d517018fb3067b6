import Attestation
import Bytes
import Crypto
import EventLoop
import KeyStore
import SQLite

/// The registry's statements on one connection. The caller runs the transactions.
final class RegistryTables {
    let connection: Connection
    let renewals: RenewalTable
    let users: UserTable
    let challenges: ChallengeTable
    let certificates: CertificateTable
    let installations: InstallationTable
    let beginReading: Statement
    let endReading: Statement
    private let selectKey: Statement
    private let selectReceipt: Statement
    private let selectApp: Statement
    private let insertApp: Statement
    private let insertKey: Statement
    private let insertReceipt: Statement
    private let advanceCounter: Statement
    private let raiseFloor: Statement
    private let setStatus: Statement
    private let setBits: Statement
    private let insertChange: Statement
    private let pruneChanges: Statement
    private let selectChanges: Statement
    private let dataVersion: Statement
    private let selectShared: Statement
    private let insertShared: Statement
    /// The numbers of apps. They never change and there are few, so they are remembered.
    private var appNumbers: [String: Int64] = [:]
    private var appNames: [Int64: String] = [:]

    /// The number of changes kept for others to read. A process that falls further behind forgets
    /// everything.
    static let changeCountMax: Int64 = 10_000

    static let keyColumns = """
        key_id, public_key, app, environment, status, counter, enrolled_at, bundle_version, \
        validation_category, risk_metric, device_bits, platform, security_level
        """

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        renewals = try RenewalTable(connection)
        users = try UserTable(connection)
        challenges = try ChallengeTable(connection)
        certificates = try CertificateTable(connection)
        installations = try InstallationTable(connection)
        beginReading = try connection.prepare("BEGIN")
        endReading = try connection.prepare("ROLLBACK")
        selectKey = try connection.prepare(
            """
            SELECT \(Self.keyColumns), \(InstallationTable.columns)
            FROM keys LEFT JOIN installations USING (key_id) WHERE key_id = ?
            """)
        selectReceipt = try connection.prepare("SELECT receipt FROM receipts WHERE key_id = ?")
        selectApp = try connection.prepare("SELECT id, name FROM apps WHERE name = ? OR id = ?")
        insertApp = try connection.prepare("INSERT INTO apps (name) VALUES (?) RETURNING id")
        insertKey = try connection.prepare(
            """
            INSERT INTO keys (\(Self.keyColumns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """)
        insertReceipt = try connection.prepare(
            "INSERT OR REPLACE INTO receipts (key_id, receipt) VALUES (?, ?)")
        advanceCounter = try connection.prepare(
            "UPDATE keys SET counter = ?2 WHERE key_id = ?1 AND status = 0 AND counter < ?2")
        raiseFloor = try connection.prepare(
            "UPDATE keys SET counter = ?2 WHERE key_id = ?1 AND counter < ?2")
        setStatus = try connection.prepare("UPDATE keys SET status = ?2 WHERE key_id = ?1")
        setBits = try connection.prepare(
            "UPDATE keys SET device_bits = ?2 WHERE key_id = ?1 AND status <> 2")
        insertChange = try connection.prepare("INSERT INTO changes (key_id) VALUES (?)")
        pruneChanges = try connection.prepare(
            """
            DELETE FROM changes
            WHERE revision <= (SELECT max(revision) FROM changes) - \(Self.changeCountMax)
            """)
        selectChanges = try connection.prepare(
            "SELECT revision, key_id FROM changes WHERE revision > ? ORDER BY revision LIMIT ?")
        dataVersion = try connection.prepare("PRAGMA data_version")
        selectShared = try connection.prepare(
            "SELECT value, version, term, expires_at FROM shared_state WHERE name = ?")
        insertShared = try connection.prepare(
            """
            INSERT OR REPLACE INTO shared_state (name, value, version, term, expires_at)
            VALUES (?, ?, ?, ?, ?)
            """)
        _ = try connection.prepare("SELECT bytes FROM embedded_state")
    }

    /// Undoes the open transaction, and forgets what was remembered of it.
    func rollback() {
        connection.rollback()
        forgetApps()
    }

    /// Runs `body` so that its failure leaves the surrounding transaction as it was before.
    ///
    /// A failure may also end the whole transaction: `connection.isInTransaction` tells.
    func nested<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try connection.execute("SAVEPOINT nested")
        do throws(SQLiteError) {
            let value = try body()
            try connection.execute("RELEASE nested")
            return value
        } catch {
            forgetApps()
            undoNested()
            throw error
        }
    }

    private func undoNested() {
        guard connection.isInTransaction else { return }
        do throws(SQLiteError) {
            try connection.execute("ROLLBACK TO nested")
            try connection.execute("RELEASE nested")
        } catch {
            connection.rollback()
        }
    }

    private func forgetApps() {
        appNumbers = [:]
        appNames = [:]
    }

    // MARK: keys

    /// The record, with its receipt, the state of that and its certificates only if asked for.
    func find(_ keyID: KeyID, withReceipt: Bool) throws(SQLiteError) -> KeyRecord? {
        defer { selectKey.reset() }
        try selectKey.bind(1, blob: keyID.digest)
        guard try selectKey.step() else { return nil }
        var record = try record(of: selectKey)
        record.succession = try InstallationTable.succession(in: selectKey, from: 13)
        if withReceipt {
            record.receipt = try receipt(of: record)
            record.receiptState = try renewals.state(of: keyID)
            record.certificates = try certificates.serials(of: keyID)
        }
        return record
    }

    func receipt(of record: KeyRecord) throws(SQLiteError) -> [UInt8]? {
        guard record.status != .erased else { return nil }
        defer { selectReceipt.reset() }
        try selectReceipt.bind(1, blob: record.keyID.digest)
        return try selectReceipt.step() ? selectReceipt.blob(0) : nil
    }

    /// The record of a row of ``keyColumns``.
    func record(of row: Statement) throws(SQLiteError) -> KeyRecord {
        guard let digest = row.bytes32(0), let status = KeyStatus(code: row.integer(4)),
            let counter = UInt32(exactly: row.integer(5)),
            let environment = AttestEnvironment(code: row.integer(3)),
            let publicKey = status == .erased ? .erased : P256PublicKey(stored: row.blob(1))
        else { throw SQLiteError(extendedCode: 11, message: "a row of keys is invalid") }
        return KeyRecord(
            keyID: KeyID(digest: digest), publicKey: publicKey,
            appID: try appName(row.integer(2)), environment: environment,
            enrolledAt: row.integer(6), platform: PlatformName(stored: row.text(11)),
            securityLevel: row.isNull(12) ? nil : SecurityLevel(code: row.integer(12)),
            status: status, counterFloor: counter, bundleVersion: row.text(7),
            validationCategory: row.isNull(8) ? nil : UInt32(truncatingIfNeeded: row.integer(8)),
            riskMetric: row.isNull(9) ? nil : UInt32(clamping: row.integer(9)),
            deviceBits: row.isNull(10) ? nil : DeviceBits(code: row.integer(10)))
    }

    /// Inserts a record. False if the key is there already.
    func insert(_ record: KeyRecord) throws(SQLiteError) -> Bool {
        let app = try appNumber(record.appID)
        defer { insertKey.reset() }
        let isErased = record.status == .erased
        try insertKey.bind(1, blob: record.keyID.digest)
        try insertKey.bind(2, blob: isErased ? nil : record.publicKey.stored)
        try insertKey.bind(3, isErased ? 0 : app)
        try insertKey.bind(4, record.environment.code)
        try insertKey.bind(5, record.status.code)
        try insertKey.bind(6, Int64(record.counterFloor))
        try insertKey.bind(7, isErased ? 0 : record.enrolledAt)
        try insertKey.bind(8, text: isErased ? nil : record.bundleVersion)
        try insertKey.bind(9, isErased ? nil : record.validationCategory.map(Int64.init))
        try insertKey.bind(10, isErased ? nil : record.riskMetric.map(Int64.init))
        try insertKey.bind(11, isErased ? nil : record.deviceBits?.code)
        try insertKey.bind(12, text: isErased ? nil : record.platform.stored)
        try insertKey.bind(13, isErased ? nil : record.securityLevel?.code)
        try insertKey.run()
        let isNew = connection.changeCount == 1
        if isNew, !isErased, let state = record.receiptState {
            try renewals.insert(state, of: record, app: app)
        }
        if isNew, !isErased {
            try certificates.insert(record)
            if let place = record.succession { try installations.insert(place, of: record.keyID) }
        }
        if isNew, !isErased, let receipt = record.receipt {
            defer { insertReceipt.reset() }
            try insertReceipt.bind(1, blob: record.keyID.digest)
            try insertReceipt.bind(2, blob: receipt)
            try insertReceipt.run()
        }
        return isNew
    }

    /// Advances the counter. True if the key is active and the counter is above all before.
    func advance(_ keyID: KeyID, to counter: UInt32) throws(SQLiteError) -> Bool {
        try update(advanceCounter, keyID, Int64(counter))
    }

    func raiseFloor(_ keyID: KeyID, to counter: UInt32) throws(SQLiteError) -> Bool {
        try update(raiseFloor, keyID, Int64(counter))
    }

    func setStatus(_ keyID: KeyID, _ status: KeyStatus) throws(SQLiteError) -> Bool {
        if status != .active { try renewals.stop(keyID) }
        return try update(setStatus, keyID, status.code)
    }

    /// Keeps the bits. False if the key is not known, or erased.
    func keep(_ bits: DeviceBits, of keyID: KeyID) throws(SQLiteError) -> Bool {
        try update(setBits, keyID, bits.code)
    }

    /// Leaves the id, the counter and the status; the challenge stays spent.
    func erase(_ keyID: KeyID) throws(SQLiteError) {
        try renewals.delete(keyID)
        try certificates.delete(keyID)
        try installations.delete(keyID)
        for sql in [
            """
            UPDATE keys SET public_key = NULL, app = 0, environment = 0, status = 2,
                enrolled_at = 0, bundle_version = NULL, validation_category = NULL,
                risk_metric = NULL, device_bits = NULL, platform = NULL, security_level = NULL
            WHERE key_id = ?
            """,
            "DELETE FROM receipts WHERE key_id = ?",
            "DELETE FROM key_users WHERE key_id = ?",
        ] {
            let statement = try connection.prepare(sql)
            try statement.bind(1, blob: keyID.digest)
            try statement.run()
        }
    }

    private func update(_ statement: Statement, _ keyID: KeyID, _ value: Int64)
        throws(SQLiteError) -> Bool
    {
        defer { statement.reset() }
        try statement.bind(1, blob: keyID.digest)
        try statement.bind(2, value)
        try statement.run()
        return connection.changeCount > 0
    }

    // MARK: changes

    /// Tells other processes that the record changed; nil for more keys than are named.
    func note(changeOf keyID: KeyID?) throws(SQLiteError) {
        defer { insertChange.reset() }
        if let keyID { try insertChange.bind(1, blob: keyID.digest) }
        try insertChange.run()
    }

    func pruneOldChanges() throws(SQLiteError) { try pruneChanges.run() }

    /// Differs from the last answer if another connection has committed in between.
    func currentDataVersion() throws(SQLiteError) -> Int64 {
        defer { dataVersion.reset() }
        return try dataVersion.step() ? dataVersion.integer(0) : 0
    }

    func lastRevision() throws(SQLiteError) -> Int64 {
        try connection.integer("SELECT max(revision) FROM changes") ?? 0
    }

    /// The changes after `revision`, or nil if there are none. `revision` moves to the last one
    /// read.
    func changes(
        after revision: inout Int64, countMax: Int
    ) throws(SQLiteError) -> RegistryChange? {
        defer { selectChanges.reset() }
        try selectChanges.bind(1, revision)
        try selectChanges.bind(2, Int64(countMax) + 1)
        var keys: [KeyID] = []
        var last = revision
        var isComplete = true
        while try selectChanges.step() {
            let found = selectChanges.integer(0)
            // A gap: the rows between were pruned before this process read them.
            if found != last + 1 { isComplete = false }
            last = found
            if let digest = selectChanges.bytes32(1) {
                keys.append(KeyID(digest: digest))
            } else {
                isComplete = false
            }
        }
        guard last != revision else { return nil }
        if isComplete, keys.count <= countMax {
            revision = last
            return .keys(keys)
        }
        revision = try lastRevision()
        return .everything
    }

    // MARK: shared values

    func shared(_ name: String) throws(SQLiteError) -> SharedReading {
        defer { selectShared.reset() }
        try selectShared.bind(1, text: name)
        let now = Self.now()
        guard try selectShared.step() else { return SharedReading(entry: nil, now: now) }
        let entry = SharedEntry(
            name: name, value: selectShared.blob(0) ?? [], version: selectShared.integer(1),
            term: selectShared.integer(2),
            expiresAt: selectShared.isNull(3) ? nil : selectShared.integer(3))
        return SharedReading(entry: entry, now: now)
    }

    /// Writes a shared value. To be called in a write transaction.
    func write(_ write: SharedWrite) throws(SQLiteError) -> SharedOutcome {
        let found = try shared(write.name)
        guard let entry = write.entry(over: found.entry, at: found.now) else {
            return SharedOutcome(isWritten: false, reading: found)
        }
        defer { insertShared.reset() }
        try insertShared.bind(1, text: entry.name)
        try insertShared.bind(2, blob: entry.value)
        try insertShared.bind(3, entry.version)
        try insertShared.bind(4, entry.term)
        try insertShared.bind(5, entry.expiresAt)
        try insertShared.run()
        return SharedOutcome(
            isWritten: true, reading: SharedReading(entry: entry, now: found.now))
    }

    /// The store's clock is the machine's: every process that opens the file is on this machine.
    private static func now() -> Int64 { WallClock.milliseconds() }

    // MARK: apps

    func existingAppNumber(_ name: String) throws(SQLiteError) -> Int64? {
        if let number = appNumbers[name] { return number }
        defer { selectApp.reset() }
        try selectApp.bind(1, text: name)
        return try selectApp.step() ? remember(name, selectApp.integer(0)) : nil
    }

    private func appNumber(_ name: String) throws(SQLiteError) -> Int64 {
        if let number = try existingAppNumber(name) { return number }
        defer { insertApp.reset() }
        try insertApp.bind(1, text: name)
        // Not remembered, because the transaction may be undone.
        return try insertApp.step() ? insertApp.integer(0) : 0
    }

    /// The name of an app; empty for the app of erased keys.
    func appName(_ number: Int64) throws(SQLiteError) -> String {
        if number == 0 { return "" }
        if let name = appNames[number] { return name }
        defer { selectApp.reset() }
        try selectApp.bind(2, number)
        guard try selectApp.step(), let name = selectApp.text(1) else {
            throw SQLiteError(extendedCode: 11, message: "a key belongs to no app")
        }
        _ = remember(name, number)
        return name
    }

    private func remember(_ name: String, _ number: Int64) -> Int64 {
        appNumbers[name] = number
        appNames[number] = name
        return number
    }
}
