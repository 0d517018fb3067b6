import Attestation
import Bytes
import EventLoop
import KeyStore

/// Key ids that the registry did not know a moment ago, so that a client that sends one again and
/// again does not cause a question each time.
///
/// Its size is fixed: another id in the same place pushes one out. It must not be used with a
/// registry in which other gateways enrol keys without notice, because an enrolled key must never
/// be called unknown.
final class UnknownKeys: Sendable {
    private struct Entry {
        var keyID: KeyID
        var end: MonotonicInstant
    }

    private struct Table {
        var entries = [Entry?](repeating: nil, count: UnknownKeys.placeCount)
        /// The number of keys that have been enrolled or changed.
        var newsCount: UInt64 = 0
    }

    private static let placeCount = 1024
    /// The time for which an id is remembered: far shorter than a device takes to enrol and come
    /// back, and long enough to save many look-ups in a flood.
    private static let life = Duration.seconds(1)

    private let table = Locked(Table())

    /// The number to pass to ``note(_:newsCount:at:)``, read before the registry is asked.
    var newsCount: UInt64 { table.withLock { $0.newsCount } }

    func contains(_ keyID: KeyID, at now: MonotonicInstant) -> Bool {
        table.withLock { table in
            guard let entry = table.entries[Self.place(of: keyID)] else { return false }
            return entry.keyID == keyID && now < entry.end
        }
    }

    /// Notes that the registry, asked after `newsCount`, does not know the key. Nothing is noted if
    /// there was news meanwhile.
    func note(_ keyID: KeyID, newsCount: UInt64, at now: MonotonicInstant) {
        table.withLock { table in
            guard table.newsCount == newsCount else { return }
            table.entries[Self.place(of: keyID)] = Entry(keyID: keyID, end: now + Self.life)
        }
    }

    /// Forgets keys that the registry may know from now on.
    func forget(_ change: RegistryChange) {
        table.withLock { table in
            table.newsCount += 1
            switch change {
            case .keys(let keyIDs):
                for keyID in keyIDs { table.entries[Self.place(of: keyID)] = nil }
            case .everything, .replaced:
                table.entries = [Entry?](repeating: nil, count: Self.placeCount)
            }
        }
    }

    private static func place(of keyID: KeyID) -> Int {
        Int(truncatingIfNeeded: keyID.digest.word0 % UInt64(placeCount))
    }
}
