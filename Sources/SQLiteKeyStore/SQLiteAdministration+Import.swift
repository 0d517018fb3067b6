import Attestation
public import KeyStore
import SQLite

extension SQLiteAdministration {
    /// The most changed keys of a transaction that are named to other processes one by one.
    private static let namedChangeCountMax = 500
    /// The pause after each transaction, in which a gateway can write.
    private static let pauseMilliseconds: Int32 = 5

    public var transactionCountMax: Int { 10_000 }

    public func write(_ records: ArraySlice<KeyRecord>) throws(StoreError) -> ImportedRecords {
        let written = try attempt { () throws(SQLiteError) in try insert(records) }
        Connection.pause(milliseconds: Self.pauseMilliseconds)
        return written
    }

    private func insert(_ records: ArraySlice<KeyRecord>) throws(SQLiteError) -> ImportedRecords {
        do throws(SQLiteError) {
            try tables.connection.begin(.immediate)
            var written = ImportedRecords()
            for record in records { try insert(record, &written) }
            try noteChanges(written.changed)
            try auditTable.append(
                [AuditNote(written.summary)].compactMap(\.self), by: author)
            try tables.connection.commit()
            return written
        } catch {
            tables.rollback()
            throw error
        }
    }

    private func insert(
        _ record: KeyRecord, _ written: inout ImportedRecords
    ) throws(SQLiteError) {
        if try tables.insert(record) {
            written.summary.addedCount += 1
            return
        }
        guard let known = try tables.find(record.keyID, withReceipt: false) else { return }
        if let conflict = ImportConflict(record, with: known) {
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

    private func noteChanges(_ keyIDs: [KeyID]) throws(SQLiteError) {
        guard !keyIDs.isEmpty else { return }
        if keyIDs.count > Self.namedChangeCountMax {
            try tables.note(changeOf: nil)
        } else {
            for keyID in keyIDs { try tables.note(changeOf: keyID) }
        }
        try tables.pruneOldChanges()
    }
}
