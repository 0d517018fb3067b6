public import AppAttest
import Bytes
public import KeyStore
import SQLite

/// What an import did.
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

/// Why a record was not imported.
public enum ImportConflict: Hashable, Sendable {
    case otherPublicKey
    case otherApp
    case otherEnvironment
    /// Known as revoked or erased: an import never makes a key usable again.
    case notActive(KeyStatus)
}

/// Puts many records into a registry, in transactions of 10,000.
///
/// A key that is there already is only ever made stricter: its counter floor is raised, an active
/// key becomes revoked where the record says so. Anything else about it that differs is a conflict,
/// and the stored record stays. Importing the same records again changes nothing, so an import that
/// failed half way is simply repeated.
public final class KeyImport {
    /// Records are put into the order of their ids before they are written: random ids would touch
    /// every page of the table again and again.
    private static let sortedCountMax = 200_000
    private static let transactionCountMax = 10_000
    /// Changed keys named one by one to other processes, for each transaction.
    private static let namedChangeCountMax = 500
    /// Between two transactions, so that a gateway gets to write.
    private static let pauseMilliseconds: Int32 = 5

    private let administration: RegistryAdministration
    private let onConflict: (KeyID, ImportConflict) -> Void
    private var waiting: [KeyRecord] = []
    private var summary = ImportSummary()

    init(
        _ administration: RegistryAdministration,
        _ onConflict: @escaping (KeyID, ImportConflict) -> Void
    ) {
        self.administration = administration
        self.onConflict = onConflict
    }

    /// Takes a record; it is written with many others.
    public func add(_ record: KeyRecord) throws(StoreError) {
        waiting.append(record)
        if waiting.count >= Self.sortedCountMax { try write() }
    }

    /// Writes what waits. Everything added is durable when it returns.
    public func finish() throws(StoreError) -> ImportSummary {
        try write()
        return summary
    }

    private func write() throws(StoreError) {
        waiting.sort { $0.keyID.digest < $1.keyID.digest }
        var start = 0
        while start < waiting.count {
            let end = min(start + Self.transactionCountMax, waiting.count)
            let records = waiting[start..<end]
            let written = try administration.attempt { () throws(SQLiteError) in
                try write(records)
            }
            for (keyID, conflict) in written.conflicts { onConflict(keyID, conflict) }
            summary.addedCount += written.summary.addedCount
            summary.unchangedCount += written.summary.unchangedCount
            summary.tightenedCount += written.summary.tightenedCount
            summary.conflictCount += written.conflicts.count
            start = end
            if start < waiting.count { Connection.pause(milliseconds: Self.pauseMilliseconds) }
        }
        waiting.removeAll(keepingCapacity: true)
    }

    /// What one transaction did; counted only once it is committed.
    private struct Written {
        var summary = ImportSummary()
        var conflicts: [(KeyID, ImportConflict)] = []
        var changed: [KeyID] = []
    }

    private func write(_ records: ArraySlice<KeyRecord>) throws(SQLiteError) -> Written {
        let tables = administration.tables
        do throws(SQLiteError) {
            try tables.connection.begin(.immediate)
            var written = Written()
            for record in records { try write(record, &written) }
            try noteChanges(written.changed)
            try tables.connection.commit()
            return written
        } catch {
            tables.rollback()
            throw error
        }
    }

    private func write(_ record: KeyRecord, _ written: inout Written) throws(SQLiteError) {
        let tables = administration.tables
        if try tables.insert(record) {
            written.summary.addedCount += 1
            return
        }
        guard let known = try tables.find(record.keyID, withReceipt: false) else { return }
        if let conflict = conflict(record, with: known) {
            written.conflicts.append((record.keyID, conflict))
            return
        }
        var isTightened = try tables.raiseFloor(record.keyID, to: record.counterFloor)
        if record.status == .revoked, known.status == .active {
            isTightened = try tables.setStatus(record.keyID, .revoked) || isTightened
        } else if record.status == .erased, known.status != .erased {
            try tables.erase(record.keyID)
            isTightened = true
        }
        if isTightened {
            written.summary.tightenedCount += 1
            written.changed.append(record.keyID)
        } else {
            written.summary.unchangedCount += 1
        }
    }

    private func conflict(_ record: KeyRecord, with known: KeyRecord) -> ImportConflict? {
        if record.status == .erased { return nil }
        if known.status == .erased { return .notActive(.erased) }
        if record.publicKey != known.publicKey { return .otherPublicKey }
        if record.appID != known.appID { return .otherApp }
        if record.environment != known.environment { return .otherEnvironment }
        if known.status == .revoked, record.status == .active { return .notActive(.revoked) }
        return nil
    }

    private func noteChanges(_ keyIDs: [KeyID]) throws(SQLiteError) {
        let tables = administration.tables
        guard !keyIDs.isEmpty else { return }
        if keyIDs.count > Self.namedChangeCountMax {
            try tables.note(changeOf: nil)
        } else {
            for keyID in keyIDs { try tables.note(changeOf: keyID) }
        }
        try tables.pruneOldChanges()
    }
}

extension RegistryAdministration {
    /// Begins an import; `onConflict` hears of each record that was not taken, once its neighbours
    /// are committed.
    public func beginImport(
        onConflict: @escaping (KeyID, ImportConflict) -> Void = { _, _ in }
    ) -> KeyImport { KeyImport(self, onConflict) }
}
