public import Attestation
import Bytes

/// The keys that an operator asks for.
public struct KeyFilter: Hashable, Sendable {
    public var appID: String?
    public var environment: AttestEnvironment?
    public var status: KeyStatus?
    /// The last key of the page before. Only keys that come after it are listed.
    public var after: KeyID?
    public var countMax = 1000

    public init() {}
}

/// The outcome of a revocation or an erasure.
public enum AdministrationOutcome: Hashable, Sendable {
    case done
    /// The key had that status already, or is erased.
    case unchanged
    case unknownKey

    /// The word in the audit log and in machine output.
    public var word: String {
        switch self {
        case .done: "done"
        case .unchanged: "unchanged"
        case .unknownKey: "unknown_key"
        }
    }
}

/// The outcome of an order to renew a key's receipt.
public enum RenewalOrderOutcome: Hashable, Sendable {
    /// Seconds since 1970: the time of the order, or the receipt's *not before*.
    case due(at: Int64)
    /// The receipt was already due by then.
    case wasDue
    case noReceipt
    /// The key is revoked or erased.
    case notActive
    case unknownKey

    /// The word in machine output.
    public var word: String {
        switch self {
        case .due: "due"
        case .wasDue: "was_due"
        case .noReceipt: "no_receipt"
        case .notActive: "not_active"
        case .unknownKey: "unknown_key"
        }
    }
}

extension AuditNote {
    /// The note of an order to renew receipts: the key, if it was one, and how many are due now.
    package init(renewing keyIDs: [KeyID], _ outcomes: [RenewalOrderOutcome]) {
        let dueCount = outcomes.count { if case .due = $0 { true } else { false } }
        self.init(
            .renewReceipts, keyIDs.count == 1 ? keyIDs[0].base64 : "",
            outcome: dueCount > 0 ? "done" : "unchanged",
            detail: "\(dueCount) of \(keyIDs.count) made due")
    }

    /// The note of one transaction of an import. Nil if it changed nothing.
    package init?(_ summary: ImportSummary) {
        guard summary.addedCount + summary.tightenedCount > 0 else { return nil }
        self.init(
            .importKeys, "", outcome: "done",
            detail: "added \(summary.addedCount), made stricter \(summary.tightenedCount)")
    }

    /// The note of a user who was forgotten. It does not name the user, who would otherwise not be
    /// forgotten.
    package init(forgettingUserOf keyCount: Int) {
        self.init(
            .eraseUser, "", outcome: "done",
            detail: "forgotten with \(String(counting: keyCount, "key"))")
    }
}

/// A server of a registry that did not tell if it is the primary by now.
public struct UnaskedServer: Hashable, Sendable, CustomStringConvertible {
    public let address: String
    public let reason: StoreError

    public init(address: String, reason: StoreError) {
        self.address = address
        self.reason = reason
    }

    public var description: String {
        "\(address) did not say whether it is the primary now: \(reason)"
    }
}

/// The number of keys of one app, environment and status.
public struct KeyCount: Hashable, Sendable {
    public let appID: String
    public let environment: AttestEnvironment
    public let status: KeyStatus
    public let count: Int

    public init(
        appID: String, environment: AttestEnvironment, status: KeyStatus, count: Int
    ) {
        self.appID = appID
        self.environment = environment
        self.status = status
        self.count = count
    }
}

/// The access to a registry by hand, for the `keys` command: synchronous, beside gateways that run,
/// which hear of every change. Belongs to one thread.
public protocol RegistryAdministration: AnyObject {
    /// The author of the changes. Each leaves an entry in the audit log, in the transaction that
    /// makes it. Nil leaves none.
    var author: AuditAuthor? { get set }

    /// Adds an action that was done elsewhere to the audit log. Durable when it returns.
    func append(_ note: AuditNote) throws(StoreError)

    /// One page of the audit log, the newest entry first.
    func audit(_ filter: AuditFilter) throws(StoreError) -> [AuditEntry]

    /// The record with its receipt, nil if the key is not known.
    func find(_ keyID: KeyID) throws(StoreError) -> KeyRecord?

    /// One page in the order of key ids.
    func list(_ filter: KeyFilter, withReceipts: Bool) throws(StoreError) -> [KeyRecord]

    /// Refuses the keys from now on. Durable when it returns; all of them or none.
    func revoke(_ keyIDs: [KeyID]) throws(StoreError) -> [AdministrationOutcome]

    /// Deletes everything about the keys but their ids and counters, so that they can neither be
    /// used nor enrol again. Durable when it returns; all of them or none.
    func erase(_ keyIDs: [KeyID]) throws(StoreError) -> [AdministrationOutcome]

    /// Makes receipts due at `now`, or at their *not before*, whatever became of them before.
    /// Durable when it returns; all of them or none.
    func renewReceipts(
        of keyIDs: [KeyID], at now: Int64
    ) throws(StoreError) -> [RenewalOrderOutcome]

    /// The active keys that a certificate with one of these serial numbers vouches for, in the
    /// order of their ids, from after `after` on. `serials`: in the form of
    /// ``KeyRecord/certificates``, at most ``CertificateQuery/serialCountMax``.
    func activeKeys(
        under serials: [String], after: KeyID?, countMax: Int
    ) throws(StoreError) -> [KeyID]

    /// The newest keys of the installations of these keys, each by the older key. A key has none
    /// if it is the newest itself, or if the newest one is not active.
    func newerKeys(than keyIDs: [KeyID]) throws(StoreError) -> [KeyID: NewerKey]

    /// The users for whom the key was used, the last one first.
    func users(of keyID: KeyID) throws(StoreError) -> [KeyUser]

    /// The uses of keys for the user.
    func keys(of user: UserPseudonym) throws(StoreError) -> [KeyUser]

    /// Forgets which keys were used for the user. Durable when it returns.
    func forget(_ user: UserPseudonym) throws(StoreError)

    /// The servers that were not asked. If one of them is the primary by now, what is changed here
    /// is lost and what is read is old.
    var unaskedServers: [UnaskedServer] { get }

    /// The number of keys of each kind.
    func counts() throws(StoreError) -> [KeyCount]

    /// Reads the value under a name that gateways share.
    func readShared(_ name: String) throws(StoreError) -> SharedReading

    /// Durable when it returns, by the rules of ``SharedState``. `note` enters the audit log if the
    /// value is written.
    func writeShared(
        _ write: SharedWrite, noting note: AuditNote?
    ) throws(StoreError) -> SharedOutcome

    /// The most records that ``write(_:)`` takes at once.
    var transactionCountMax: Int { get }

    /// Writes some records in one transaction, by the rules of ``KeyImport``.
    func write(_ records: ArraySlice<KeyRecord>) throws(StoreError) -> ImportedRecords
}

extension RegistryAdministration {
    /// Writes a value without a note in the audit log, because the change is not an operator's.
    public func writeShared(_ write: SharedWrite) throws(StoreError) -> SharedOutcome {
        try writeShared(write, noting: nil)
    }

    /// Empty: a registry in one place has no other servers.
    public var unaskedServers: [UnaskedServer] { [] }

    /// Begins an import. `onConflict` is called with each record that was not taken, once its
    /// neighbours are committed; `onWritten` is called after each transaction with the number of
    /// records written.
    public func beginImport(
        onConflict: @escaping (KeyID, ImportConflict) -> Void = { _, _ in },
        onWritten: @escaping (Int) -> Void = { _ in }
    ) -> KeyImport { KeyImport(self, onConflict, onWritten) }

    /// Hands over every key that `filter` selects, page by page, receipts included; `countMax` is
    /// ignored. Keys that change meanwhile appear as they were or as they are; none appears twice.
    public func export<Failure: Error>(
        _ filter: KeyFilter, _ body: (KeyRecord) throws(Failure) -> Void
    ) throws(ExportError<Failure>) {
        var filter = filter
        filter.countMax = 500
        while true {
            let records: [KeyRecord]
            do throws(StoreError) {
                records = try list(filter, withReceipts: true)
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
}

/// The bounds of questions for the keys of certificates.
public enum CertificateQuery {
    /// The most serial numbers of one question. A list of withdrawn certificates with thousands is
    /// asked for in parts, so that no question keeps the registry for long.
    public static let serialCountMax = 500
}

/// The reason why an export ended early.
public enum ExportError<Failure: Error>: Error {
    case store(StoreError)
    /// The receiver's own error.
    case receiver(Failure)
}
