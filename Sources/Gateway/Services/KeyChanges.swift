import Attestation
import EventLoop
import KeyStore

/// The keys that were reported as changed since a moment. Kept for groups of keys, so that the
/// change of one key does not make the look-ups of all others start anew. Beside them are the
/// changes that this worker has asked for.
struct KeyChanges {
    /// The number of changes that were heard of.
    private(set) var count: UInt64 = 0
    /// The numbers of the last changes.
    private var last = KeyGroupNumbers()
    /// The keys whose predecessors the registry is being asked to revoke, and since when.
    private var retiring: [KeyID: MonotonicInstant] = [:]
    /// An answer that has not come by then was lost on the way.
    private static let patience = Duration.seconds(60)

    mutating func note(_ change: RegistryChange) {
        count += 1
        switch change {
        case .keys(let keyIDs): for keyID in keyIDs { last.raise(keyID, to: count) }
        case .everything, .replaced: last.raiseAll(to: count)
        }
    }

    /// Notes that the registry is asked to revoke the predecessor of `successor`. False if it is
    /// being asked already.
    mutating func begin(_ retirement: KeyRetirement, at now: MonotonicInstant) -> Bool {
        if let since = retiring[retirement.successor], now - since < Self.patience { return false }
        retiring[retirement.successor] = now
        return true
    }

    mutating func end(_ retirement: KeyRetirement) { retiring[retirement.successor] = nil }

    /// True if `keyID`, or another key of its group, has changed since ``count`` was `count`.
    func hasChanged(_ keyID: KeyID, since count: UInt64) -> Bool {
        last[keyID] > count
    }
}
