import AppAttest
import Bytes
import KeyStore

/// Which keys were said to have changed since a moment: by groups of keys, so that the change of
/// one key does not make the look-ups of all others start over.
struct KeyChanges {
    /// The changes that were heard of.
    private(set) var count: UInt64 = 0
    /// The number of the last change of a key of each group.
    private var lastIn = [UInt64](repeating: 0, count: groupCount)

    private static let groupCount = 256

    mutating func note(_ change: RegistryChange) {
        count += 1
        switch change {
        case .keys(let keyIDs): for keyID in keyIDs { lastIn[Self.group(keyID)] = count }
        case .everything, .replaced: for group in lastIn.indices { lastIn[group] = count }
        }
    }

    /// Whether `keyID`, or another key of its group, has changed since ``count`` was `count`.
    func hasChanged(_ keyID: KeyID, since count: UInt64) -> Bool {
        lastIn[Self.group(keyID)] > count
    }

    private static func group(_ keyID: KeyID) -> Int {
        Int(truncatingIfNeeded: keyID.digest.word1) & (groupCount - 1)
    }
}
