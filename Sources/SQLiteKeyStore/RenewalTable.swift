import AppAttest
import KeyStore
import SQLite

/// What is known of receipts, and when each is to be renewed, on one connection.
final class RenewalTable {
    private let selectState: Statement
    private let insertState: Statement
    private let stopRenewal: Statement
    private let deleteState: Statement

    static let stateColumns = """
        kind, created_at, not_before, expires_at, due_at, attempted_at, outcome, failures
        """

    init(_ connection: Connection) throws(SQLiteError) {
        selectState = try connection.prepare(
            "SELECT \(Self.stateColumns) FROM renewals WHERE key_id = ?")
        insertState = try connection.prepare(
            """
            INSERT OR REPLACE INTO renewals (key_id, app, environment, \(Self.stateColumns))
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        stopRenewal = try connection.prepare(
            "UPDATE renewals SET due_at = NULL WHERE key_id = ?")
        deleteState = try connection.prepare("DELETE FROM renewals WHERE key_id = ?")
    }

    func state(of keyID: KeyID) throws(SQLiteError) -> ReceiptState? {
        defer { selectState.reset() }
        try selectState.bind(1, blob: keyID.digest)
        return try selectState.step() ? Self.state(selectState, 0) : nil
    }

    /// The state in ``stateColumns`` from `first` on.
    static func state(_ row: Statement, _ first: Int32) -> ReceiptState {
        func integer(_ offset: Int32) -> Int64? {
            row.isNull(first + offset) ? nil : row.integer(first + offset)
        }
        return ReceiptState(
            kind: integer(0).flatMap(ReceiptFields.Kind.init(code:)), createdAt: integer(1),
            notBefore: integer(2), expiresAt: integer(3), dueAt: integer(4),
            lastOutcome: integer(6).flatMap(RenewalOutcome.init(code:)), attemptedAt: integer(5),
            failureCount: UInt32(clamping: row.integer(first + 7)))
    }

    /// `app` is the number of the record's app.
    func insert(
        _ state: ReceiptState, of record: KeyRecord, app: Int64
    ) throws(SQLiteError) {
        defer { insertState.reset() }
        try insertState.bind(1, blob: record.keyID.digest)
        try insertState.bind(2, app)
        try insertState.bind(3, record.environment.code)
        try insertState.bind(4, state.kind?.code)
        try insertState.bind(5, state.createdAt)
        try insertState.bind(6, state.notBefore)
        try insertState.bind(7, state.expiresAt)
        // Who is revoked stays so.
        try insertState.bind(8, record.status == .active ? state.dueAt : nil)
        try insertState.bind(9, state.attemptedAt)
        try insertState.bind(10, state.lastOutcome?.code)
        try insertState.bind(11, Int64(state.failureCount))
        try insertState.run()
    }

    /// The receipt is not sent to Apple any more.
    func stop(_ keyID: KeyID) throws(SQLiteError) { try run(stopRenewal, keyID) }

    func delete(_ keyID: KeyID) throws(SQLiteError) { try run(deleteState, keyID) }

    private func run(_ statement: Statement, _ keyID: KeyID) throws(SQLiteError) {
        defer { statement.reset() }
        try statement.bind(1, blob: keyID.digest)
        try statement.run()
    }
}
