import Attestation
import KeyStore

/// The keys that were reported as changed since a moment. Kept for groups of keys, so that the
/// change of one key does not make the look-ups of all others start anew.
struct KeyChanges {
    /// The number of changes that were heard of.
    private(set) var count: UInt64 = 0
    /// The numbers of the last changes.
    private var last = KeyGroupNumbers()

    mutating func note(_ change: RegistryChange) {
        count += 1
        switch change {
        case .keys(let keyIDs): for keyID in keyIDs { last.raise(keyID, to: count) }
        case .everything, .replaced: last.raiseAll(to: count)
        }
    }

    /// True if `keyID`, or another key of its group, has changed since ``count`` was `count`.
    func hasChanged(_ keyID: KeyID, since count: UInt64) -> Bool {
        last[keyID] > count
    }
}
