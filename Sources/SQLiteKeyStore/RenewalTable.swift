import Attestation
import Bytes
import Crypto
import KeyStore
import SQLite

/// The state of receipts, and the times of their renewal, on one connection.
final class RenewalTable {
    private let selectState: Statement
    private let insertState: Statement
    private let stopRenewal: Statement
    private let deleteState: Statement
    private let makeDue: Statement
    private let selectDue: Statement
    private let countDue: Statement
    private let selectFirst: Statement
    private let selectTerm: Statement
    private let updateState: Statement
    private let updateReceipt: Statement
    private let updateMetric: Statement

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
        makeDue = try connection.prepare(
            """
            UPDATE renewals SET due_at = max(?2, coalesce(not_before, ?2)), failures = 0
            WHERE key_id = ?1 AND (due_at IS NULL OR due_at > max(?2, coalesce(not_before, ?2)))
            RETURNING due_at
            """)
        selectDue = try connection.prepare(
            """
            SELECT key_id, public_key, receipt, risk_metric, \(Self.stateColumns)
            FROM renewals INDEXED BY renewals_due CROSS JOIN keys USING (key_id)
                CROSS JOIN receipts USING (key_id)
            WHERE renewals.app = ?1 AND renewals.environment = ?2 AND due_at <= ?3
            ORDER BY due_at LIMIT ?4
            """)
        countDue = try connection.prepare(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM renewals WHERE app = ?1 AND environment = ?2 AND due_at <= ?3
                LIMIT \(ReceiptBacklog.countMax))
            """)
        selectFirst = try connection.prepare(
            """
            SELECT min(due_at) FROM renewals
            WHERE app = ?1 AND environment = ?2 AND due_at IS NOT NULL
            """)
        selectTerm = try connection.prepare("SELECT term FROM shared_state WHERE name = ?")
        updateState = try connection.prepare(
            """
            UPDATE renewals SET kind = ?3, created_at = ?4, not_before = ?5, expires_at = ?6,
                due_at = ?7, attempted_at = ?8, outcome = ?9, failures = ?10
            WHERE key_id = ?1 AND due_at = ?2
            """)
        updateReceipt = try connection.prepare(
            "UPDATE receipts SET receipt = ?2 WHERE key_id = ?1")
        updateMetric = try connection.prepare(
            "UPDATE keys SET risk_metric = ?2 WHERE key_id = ?1")
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
            kind: integer(0).flatMap(ReceiptKind.init(code:)), createdAt: integer(1),
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
        // The receipt of a revoked key is never due.
        try insertState.bind(8, record.status == .active ? state.dueAt : nil)
        try insertState.bind(9, state.attemptedAt)
        try insertState.bind(10, state.lastOutcome?.code)
        try insertState.bind(11, Int64(state.failureCount))
        try insertState.run()
    }

    /// Stops the renewal of the receipt.
    func stop(_ keyID: KeyID) throws(SQLiteError) { try run(stopRenewal, keyID) }

    func delete(_ keyID: KeyID) throws(SQLiteError) { try run(deleteState, keyID) }

    /// Makes the receipt of an active key due by `now`, or at its *not before* if that is later.
    func makeDue(_ keyID: KeyID, at now: Int64) throws(SQLiteError) -> RenewalOrderOutcome {
        defer { makeDue.reset() }
        try makeDue.bind(1, blob: keyID.digest)
        try makeDue.bind(2, now)
        if try makeDue.step() { return .due(at: makeDue.integer(0)) }
        return try state(of: keyID) == nil ? .noReceipt : .wasDue
    }

    // MARK: renewal

    /// `app`: the number of the group's app.
    func due(_ query: DueReceiptQuery, app: Int64) throws(SQLiteError) -> [DueReceipt] {
        defer { selectDue.reset() }
        try selectDue.bind(1, app)
        try selectDue.bind(2, query.group.environment.code)
        try selectDue.bind(3, query.dueBy)
        try selectDue.bind(4, Int64(max(0, query.countMax)))
        var found: [DueReceipt] = []
        while try selectDue.step() {
            let state = Self.state(selectDue, 4)
            guard let digest = selectDue.bytes32(0), let dueAt = state.dueAt,
                let publicKey = P256PublicKey(stored: selectDue.blob(1)),
                let receipt = selectDue.blob(2)
            else { throw SQLiteError(extendedCode: 11, message: "a receipt belongs to no key") }
            found.append(
                DueReceipt(
                    keyID: KeyID(digest: digest), publicKey: publicKey, group: query.group,
                    receipt: receipt, state: state, dueAt: dueAt,
                    riskMetric: selectDue.isNull(3) ? nil : UInt32(clamping: selectDue.integer(3)))
            )
        }
        return found
    }

    /// `app`: the number of the group's app.
    func backlog(
        _ group: ReceiptGroup, app: Int64, at now: Int64
    ) throws(SQLiteError) -> ReceiptBacklog {
        defer {
            countDue.reset()
            selectFirst.reset()
        }
        for statement in [countDue, selectFirst] {
            try statement.bind(1, app)
            try statement.bind(2, group.environment.code)
        }
        try countDue.bind(3, now)
        var backlog = ReceiptBacklog()
        if try countDue.step() { backlog.dueCount = Int(countDue.integer(0)) }
        if try selectFirst.step(), !selectFirst.isNull(0) {
            backlog.firstDueAt = selectFirst.integer(0)
        }
        return backlog
    }

    /// True if the lease still has this term. To be called in a write transaction.
    func holds(_ lease: String, term: Int64) throws(SQLiteError) -> Bool {
        defer { selectTerm.reset() }
        try selectTerm.bind(1, text: lease)
        return try selectTerm.step() && selectTerm.integer(0) == term
    }

    /// Writes a renewal. False if the key is not due any more as it was read.
    func write(_ write: RenewalWrite, _ connection: Connection) throws(SQLiteError) -> Bool {
        defer { updateState.reset() }
        try updateState.bind(1, blob: write.keyID.digest)
        try updateState.bind(2, write.dueAt)
        try updateState.bind(3, write.state.kind?.code)
        try updateState.bind(4, write.state.createdAt)
        try updateState.bind(5, write.state.notBefore)
        try updateState.bind(6, write.state.expiresAt)
        try updateState.bind(7, write.state.dueAt)
        try updateState.bind(8, write.state.attemptedAt)
        try updateState.bind(9, write.state.lastOutcome?.code)
        try updateState.bind(10, Int64(write.state.failureCount))
        try updateState.run()
        guard connection.changeCount == 1 else { return false }
        if let receipt = write.receipt {
            defer { updateReceipt.reset() }
            try updateReceipt.bind(1, blob: write.keyID.digest)
            try updateReceipt.bind(2, blob: receipt)
            try updateReceipt.run()
        }
        if let metric = write.riskMetric {
            defer { updateMetric.reset() }
            try updateMetric.bind(1, blob: write.keyID.digest)
            try updateMetric.bind(2, Int64(metric))
            try updateMetric.run()
        }
        return true
    }

    private func run(_ statement: Statement, _ keyID: KeyID) throws(SQLiteError) {
        defer { statement.reset() }
        try statement.bind(1, blob: keyID.digest)
        try statement.run()
    }
}
