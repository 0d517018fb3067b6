import Bytes
import KeyStore
import SQLite

/// The place up to which the changes of a registry were read, with marks that show if it still has
/// them.
struct HistoryPlace: Equatable {
    /// The number of the last change; 0 without any.
    var revision: Int64
    /// The key that was changed; nil if the change named none.
    var digest: Bytes32?
    /// The time at which the copy was made that the file began as, until a gateway starts with it.
    var copiedAt: [UInt8]?
}

extension RegistryTables {
    /// The name of the shared value by which a copy tells when it was made.
    static let backupMark = "backup"

    func historyPlace() throws(SQLiteError) -> HistoryPlace {
        let last = try lastRevision()
        return HistoryPlace(
            revision: last, digest: try change(last) ?? nil,
            copiedAt: try shared(Self.backupMark).entry?.value)
    }

    /// True if everything up to `place` has also happened here, where the history is at `now`, as
    /// far as can be seen. False in a copy that `keys backup` made since then, and if the change is
    /// another one or has not come yet. A change that was pruned cannot be told from another.
    func continues(_ place: HistoryPlace, to now: HistoryPlace) throws(SQLiteError) -> Bool {
        guard now.revision >= place.revision else { return false }
        if let found = try change(place.revision), found != place.digest { return false }
        return now.copiedAt == nil || now.copiedAt == place.copiedAt
    }

    /// The key of a change, nil inside if it named none; nil if there is no such change.
    private func change(_ revision: Int64) throws(SQLiteError) -> Bytes32?? {
        let select = try connection.prepare("SELECT key_id FROM changes WHERE revision = ?")
        try select.bind(1, revision)
        return try select.step() ? .some(select.bytes32(0)) : .none
    }
}
