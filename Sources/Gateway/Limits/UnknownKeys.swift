import AppAttest
import Bytes
import EventLoop
import KeyStore

/// Key ids that the registry did not know a moment ago, so that who sends one again and again does
/// not have it asked each time.
///
/// Its size is fixed: another id in the same place pushes one out. It is not for a registry in
/// which other gateways enrol keys without telling: a key that is there must never be called
/// unknown.
final class UnknownKeys: Sendable {
    private struct Entry {
        var keyID: KeyID
        var end: MonotonicInstant
    }

    private struct Table {
        var entries = [Entry?](repeating: nil, count: UnknownKeys.placeCount)
        /// How many keys have been enrolled or changed.
        var newsCount: UInt64 = 0
    }

    private static let placeCount = 1024
    /// Far below what a device takes to enrol and come back, and many look-ups at a flood.
    private static let life = Duration.seconds(1)

    private let table = Locked(Table())

    /// To be taken before the registry is asked, for ``note(_:newsCount:at:)``.
    var newsCount: UInt64 { table.withLock { $0.newsCount } }

    func contains(_ keyID: KeyID, at now: MonotonicInstant) -> Bool {
        table.withLock { table in
            guard let entry = table.entries[Self.place(of: keyID)] else { return false }
            return entry.keyID == keyID && now < entry.end
        }
    }

    /// The registry has said so, asked after `newsCount`: news that came meanwhile win.
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
