import Postgres

/// The history that a server continues: the cluster (its system identifier) and the timeline, which
/// grows with each promotion.
struct ServerLineage: Hashable, Sendable {
    var cluster: Int64
    var timeline: Int64
}

/// Keeps all sessions of a registry with one history: the newest that any of them has seen.
///
/// After a failover the old primary may live on, and take writes that will never be seen again. A
/// session there would read what is not true any more, and acknowledge what is lost. Belongs to one
/// thread.
final class LineagePin {
    struct Refusal: Hashable {
        let reason: String
        let isPermanent: Bool
    }

    private(set) var newest: ServerLineage?
    /// Called when a newer history was seen at this server: sessions with an older one must end at
    /// once, and begin there. The older server may not even refuse them.
    var onNewer: (PostgresConfiguration.Host) -> Void = { _ in }

    /// `newest`: the newest history before the sessions began.
    init(_ newest: ServerLineage?) { self.newest = newest }

    /// Tables are made by the first session alone. Where a database has lost them since, new ones
    /// would make every phone enrol anew, and would be in the way of a restore.
    var tables: RegistryOpening.Tables { newest == nil ? .made : .required }

    /// The reason why a session with this server may not be used; nil if it may.
    func refusal(of found: ServerLineage, at host: PostgresConfiguration.Host?) -> Refusal? {
        guard let newest else {
            self.newest = found
            return nil
        }
        guard found.cluster == newest.cluster else {
            return Refusal(
                reason: "registry: the server belongs to another cluster (system identifier"
                    + " \(found.cluster)) than before (\(newest.cluster)); restart the gateway if"
                    + " it is the right one", isPermanent: true)
        }
        guard found.timeline >= newest.timeline else {
            return Refusal(
                reason: "registry: the server is an old primary on timeline \(found.timeline):"
                    + " timeline \(newest.timeline) was seen elsewhere", isPermanent: false)
        }
        guard found.timeline > newest.timeline else { return nil }
        self.newest = found
        if let host { onNewer(host) }
        return nil
    }

    /// True if a session that was admitted with `lineage` may go on.
    func allows(_ lineage: ServerLineage?) -> Bool { lineage == nil || lineage == newest }

    /// The reason for ending sessions with an old primary.
    static let retirement = "the server is an old primary: a newer timeline was seen elsewhere"
}
