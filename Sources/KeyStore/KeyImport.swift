public import Attestation

/// The counts of an import.
public struct ImportSummary: Hashable, Sendable {
    /// Keys that were not there before.
    public var addedCount = 0
    /// Keys that were there and say the same.
    public var unchangedCount = 0
    /// Keys that were there and became stricter: a higher counter, or revoked.
    public var tightenedCount = 0
    /// Keys that were there and say something else; left as they were.
    public var conflictCount = 0

    public init() {}
}

/// The reason why a record was not imported.
public enum ImportConflict: Hashable, Sendable {
    case otherPublicKey
    case otherApp
    case otherEnvironment
    /// The key is known as revoked or erased: an import never makes a key usable again.
    case notActive(KeyStatus)
}

/// The counts of one transaction of an import, added to the summary only once it is committed.
public struct ImportedRecords {
    public var summary = ImportSummary()
    public var conflicts: [(KeyID, ImportConflict)] = []
    public var changed: [KeyID] = []

    public init() {}
}

extension ImportConflict {
    /// The conflict between the two records. Nil if `record` makes `known` stricter, or says the
    /// same.
    public init?(_ record: KeyRecord, with known: KeyRecord) {
        if record.status == .erased { return nil }
        if known.status == .erased {
            self = .notActive(.erased)
        } else if record.publicKey != known.publicKey {
            self = .otherPublicKey
        } else if record.appID != known.appID {
            self = .otherApp
        } else if record.environment != known.environment {
            self = .otherEnvironment
        } else if known.status == .revoked, record.status == .active {
            self = .notActive(.revoked)
        } else {
            return nil
        }
    }
}

/// Puts many records into a registry, in transactions of some thousand.
///
/// A key that is there already is only ever made stricter: its counter floor is raised, and an
/// active key becomes revoked if the record says so. Any other difference is a conflict, and the
/// stored record stays. Importing the same records again changes nothing, so an import that failed
/// half way is simply repeated.
public final class KeyImport {
    /// The most records that are sorted by id before they are written: random ids would touch every
    /// page of the table again and again. In a table of ten million, 200,000 at once still touched
    /// a page each.
    private static let sortedCountMax = 1_000_000
    /// The most bytes that wait, because receipts make a record long.
    private static let sortedByteCountMax = 512 * 1024 * 1024
    /// The bytes of a record without its receipt, with its share of the array's room to grow.
    private static let recordByteCount = 512

    private let administration: any RegistryAdministration
    private let onConflict: (KeyID, ImportConflict) -> Void
    private let onWritten: (Int) -> Void
    private var writtenCount = 0
    private var waiting: [KeyRecord] = []
    private var waitingByteCount = 0
    private var summary = ImportSummary()

    init(
        _ administration: any RegistryAdministration,
        _ onConflict: @escaping (KeyID, ImportConflict) -> Void,
        _ onWritten: @escaping (Int) -> Void
    ) {
        self.onWritten = onWritten
        self.administration = administration
        self.onConflict = onConflict
    }

    /// Takes a record; it is written with many others.
    public func add(_ record: KeyRecord) throws(StoreError) {
        waiting.append(record)
        waitingByteCount += Self.recordByteCount + (record.receipt?.count ?? 0)
        if waiting.count >= Self.sortedCountMax || waitingByteCount >= Self.sortedByteCountMax {
            try write()
        }
    }

    /// Writes the records that wait. Everything added is durable when it returns.
    public func finish() throws(StoreError) -> ImportSummary {
        try write()
        return summary
    }

    private func write() throws(StoreError) {
        waiting.sort { $0.keyID.digest < $1.keyID.digest }
        var start = 0
        while start < waiting.count {
            let end = min(start + administration.transactionCountMax, waiting.count)
            let records = waiting[start..<end]
            let written = try administration.write(records)
            for (keyID, conflict) in written.conflicts { onConflict(keyID, conflict) }
            summary.addedCount += written.summary.addedCount
            summary.unchangedCount += written.summary.unchangedCount
            summary.tightenedCount += written.summary.tightenedCount
            summary.conflictCount += written.conflicts.count
            writtenCount += records.count
            onWritten(writtenCount)
            start = end
        }
        waiting.removeAll(keepingCapacity: true)
        waitingByteCount = 0
    }
}
