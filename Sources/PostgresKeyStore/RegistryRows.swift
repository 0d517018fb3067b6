import Attestation
import Bytes
import Crypto
import KeyStore
import Postgres

/// Records as rows of `keys`, and back.
enum RegistryRows {
    /// Parses a row of ``PostgresSchema/keyColumns``.
    static func record(_ rows: PostgresRows, _ row: Int) throws(StoreError) -> KeyRecord {
        guard let digest = rows.bytes(row, 0).flatMap({ Bytes32($0) }),
            let environment = rows.integer(row, 3).flatMap(AttestEnvironment.init(code:)),
            let status = rows.integer(row, 4).flatMap(KeyStatus.init(code:)),
            let counter = rows.integer(row, 5).flatMap({ UInt32(exactly: $0) }),
            let publicKey = status == .erased ? .erased : P256PublicKey(stored: rows.bytes(row, 1))
        else { throw StoreError("registry: a row of keys is invalid") }
        return KeyRecord(
            keyID: KeyID(digest: digest), publicKey: publicKey, appID: rows.text(row, 2) ?? "",
            environment: environment, enrolledAt: rows.integer(row, 6) ?? 0,
            platform: PlatformName(stored: rows.text(row, 11)),
            securityLevel: rows.integer(row, 12).flatMap { SecurityLevel(code: $0) },
            status: status, counterFloor: counter, bundleVersion: rows.text(row, 7),
            validationCategory: rows.integer(row, 8).map { UInt32(truncatingIfNeeded: $0) },
            riskMetric: rows.integer(row, 9).map { UInt32(clamping: $0) },
            deviceBits: rows.integer(row, 10).flatMap { DeviceBits(code: $0) })
    }

    /// Parses a row of ``PostgresSchema/find``.
    static func placedRecord(_ rows: PostgresRows, _ row: Int) throws(StoreError) -> KeyRecord {
        var record = try record(rows, row)
        record.succession = try succession(rows, row, 13)
        return record
    }

    /// Parses a row of ``PostgresSchema/selectWhole(receipts:)``.
    static func wholeRecord(
        _ rows: PostgresRows, _ row: Int, withReceipt: Bool
    ) throws(StoreError) -> KeyRecord {
        var record = try record(rows, row)
        record.receiptState = state(rows, row, 13)
        record.certificates = serials(rows, row, 21)
        record.succession = try succession(rows, row, 22)
        if withReceipt { record.receipt = rows.bytes(row, 29) }
        return record
    }

    /// The state in the columns ``RenewalStatements/stateColumns`` from `first` on, or nil if there
    /// is no row.
    static func state(_ rows: PostgresRows, _ row: Int, _ first: Int) -> ReceiptState? {
        guard let failureCount = rows.integer(row, first + 7) else { return nil }
        return ReceiptState(
            kind: rows.integer(row, first).flatMap(ReceiptKind.init(code:)),
            createdAt: rows.integer(row, first + 1), notBefore: rows.integer(row, first + 2),
            expiresAt: rows.integer(row, first + 3), dueAt: rows.integer(row, first + 4),
            lastOutcome: rows.integer(row, first + 6).flatMap(RenewalOutcome.init(code:)),
            attemptedAt: rows.integer(row, first + 5),
            failureCount: UInt32(clamping: failureCount))
    }

    /// The values of ``PostgresSchema/keyColumns``, the receipt, its state, the certificates, and
    /// ``PostgresSchema/placeColumns``.
    static func values(_ record: KeyRecord) -> [PostgresValue] {
        let isErased = record.status == .erased
        return [
            .bytes(record.keyID.digest.array),
            isErased ? .null : .bytes(record.publicKey.stored),
            .text(isErased ? "" : record.appID),
            .integer(isErased ? 0 : record.environment.code),
            .integer(record.status.code),
            .integer(Int64(record.counterFloor)),
            .integer(isErased ? 0 : record.enrolledAt),
            PostgresValue(isErased ? nil : record.bundleVersion),
            PostgresValue(isErased ? nil : record.validationCategory.map(Int64.init)),
            PostgresValue(isErased ? nil : record.riskMetric.map(Int64.init)),
            PostgresValue(isErased ? nil : record.deviceBits?.code),
            PostgresValue(isErased ? nil : record.platform.stored),
            PostgresValue(isErased ? nil : record.securityLevel?.code),
            PostgresValue(isErased ? nil : record.receipt),
        ] + values(isErased ? nil : record.receiptState, isActive: record.status == .active)
            + [value(isErased ? [] : record.certificates)]
            + values(isErased ? nil : record.succession)
    }

    /// The values of ``RenewalStatements/stateColumns``. The receipt of a revoked key is never due.
    static func values(_ state: ReceiptState?, isActive: Bool) -> [PostgresValue] {
        [
            PostgresValue(state?.kind?.code), PostgresValue(state?.createdAt),
            PostgresValue(state?.notBefore), PostgresValue(state?.expiresAt),
            PostgresValue(isActive ? state?.dueAt : nil), PostgresValue(state?.attemptedAt),
            PostgresValue(state?.lastOutcome?.code),
            PostgresValue(state.map { Int64($0.failureCount) }),
        ]
    }

    static func value(_ keyID: KeyID) -> PostgresValue { .bytes(keyID.digest.array) }

    /// The state of a key by its row, or nil if the key is unknown.
    static func state(_ outcome: PostgresOutcome) -> KeyState? {
        guard let rows = outcome.rows, rows.count == 1,
            let status = rows.integer(0, 0).flatMap(KeyStatus.init(code:))
        else { return nil }
        return KeyState(
            status: status, publicKey: P256PublicKey(stored: rows.bytes(0, 1)),
            installation: installation(rows, 0, 2))
    }

    /// The parts of a row of `keys` that decide about its enrolment and its counters.
    struct KeyState {
        let status: KeyStatus
        let publicKey: P256PublicKey?
        /// Nil if the key is the only one that its installation has had.
        let installation: InstallationID?
    }
}

extension StoreError {
    init(_ failure: PostgresFailure) {
        let text = failure.description
        self.init(text.hasPrefix("registry: ") ? text : "registry: \(text)")
    }

    init(_ error: PostgresServerError) {
        let hint =
            switch error.state {
            case "53100": "the server's disk is full: "
            case "25006": "the server is read-only: "
            case "42501": "the user lacks a privilege: "
            case "55P03", "57014": "not done in time: "
            // The warning of a commit, above all the end of its wait for a standby.
            case "01000": "committed, but perhaps not on the standby: "
            default: ""
            }
        self.init("registry: \(hint)\(error)")
    }
}

extension [PostgresOutcome] {
    /// The first refusal.
    var failure: PostgresServerError? {
        for case .failed(let error) in self { return error }
        return nil
    }

    /// True if the last request is a commit that was done. An aborted transaction answers
    /// `ROLLBACK`.
    var isCommitted: Bool {
        if case .done(_, "COMMIT")? = last { true } else { false }
    }
}
