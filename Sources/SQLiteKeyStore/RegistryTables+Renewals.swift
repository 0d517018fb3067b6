import Attestation
import KeyStore
import SQLite

extension RegistryTables {
    func due(_ query: DueReceiptQuery) throws(SQLiteError) -> [DueReceipt] {
        guard let app = try existingAppNumber(query.group.appID) else { return [] }
        return try renewals.due(query, app: app)
    }

    func backlog(_ group: ReceiptGroup, at now: Int64) throws(SQLiteError) -> ReceiptBacklog {
        guard let app = try existingAppNumber(group.appID) else { return ReceiptBacklog() }
        return try renewals.backlog(group, app: app, at: now)
    }

    /// Returns the keys that were changed; none if the lease has passed on.
    func store(_ renewals: FencedRenewals) throws(SQLiteError) -> Set<KeyID> {
        guard try self.renewals.holds(renewals.lease, term: renewals.term) else { return [] }
        var changed: Set<KeyID> = []
        for write in renewals.writes where try self.renewals.write(write, connection) {
            changed.insert(write.keyID)
            if write.isNews { try note(changeOf: write.keyID) }
        }
        try pruneOldChanges()
        return changed
    }
}
