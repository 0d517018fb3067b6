import AppAttest
import Bytes
import EventLoop
import KeyStore
import Telemetry

/// What the gateway remembers of addresses, keys and users for its signals, in tables of fixed
/// size that the workers share.
final class SignalBook: Sendable {
    /// For whom a key was used last, as the registry told.
    struct KnownUser: Remembered {
        /// Nil where it was used for nobody.
        var keys: UserKeys?
        /// When the registry told.
        var readAt: UInt64
        /// Whom the registry was told of last, and when.
        var notedUser: UserPseudonym?
        var notedAt: UInt64 = 0
        var usedAt: UInt64

        func worth(at now: UInt64) -> UInt64 { usedAt }
    }

    /// Other gateways, and other keys of the user, may change what is known: it is read again after
    /// so long.
    static let readNanoseconds: UInt64 = 60 * 1_000_000_000
    /// How often a key's use for the same user is written down: what is kept is exact to this.
    static let noteNanoseconds: UInt64 = 3600 * 1_000_000_000
    /// How often at most a key's use is written down at all, whoever is named.
    static let noteGapNanoseconds: UInt64 = 1_000_000_000

    private let addressKeys: SubjectTable<Bytes16, WindowTally<DistinctSketch>>
    private let addressAttestations: SubjectTable<Bytes16, WindowTally<EventTally>>
    private let keyConflicts: SubjectTable<KeyID, WindowTally<EventTally>>
    private let users: SubjectTable<KeyID, KnownUser>

    init(subjectCountMax: Int = 16_384) {
        addressKeys = SubjectTable(subjectCountMax: subjectCountMax)
        addressAttestations = SubjectTable(subjectCountMax: subjectCountMax)
        keyConflicts = SubjectTable(subjectCountMax: subjectCountMax)
        users = SubjectTable(subjectCountMax: subjectCountMax)
    }

    // MARK: counts

    /// A request of this key came from `network`; how many keys it has had before and now.
    func add(
        _ keyID: KeyID, from network: Bytes16, window: UInt64, now: UInt64
    ) -> TallyChange {
        addressKeys.update(
            network, now: now, fresh: WindowTally(windowNanoseconds: window, now: now)
        ) { $0.add(keyID.digest.word0, now: now) }
    }

    /// A key was enrolled from `network`.
    func addAttestation(
        from network: Bytes16, window: UInt64, now: UInt64
    ) -> TallyChange {
        addressAttestations.update(
            network, now: now, fresh: WindowTally(windowNanoseconds: window, now: now)
        ) { $0.add(now: now) }
    }

    func attestations(from network: Bytes16, window: UInt64, now: UInt64) -> TallyChange {
        addressAttestations.update(
            network, now: now, fresh: WindowTally(windowNanoseconds: window, now: now)
        ) { $0.look(now: now) }
    }

    /// A counter of this key came again with another challenge.
    func addConflict(
        of keyID: KeyID, window: UInt64, now: UInt64
    ) -> TallyChange {
        keyConflicts.update(
            keyID, now: now, fresh: WindowTally(windowNanoseconds: window, now: now)
        ) { $0.add(now: now) }
    }

    func conflicts(of keyID: KeyID, window: UInt64, now: UInt64) -> TallyChange {
        keyConflicts.update(
            keyID, now: now, fresh: WindowTally(windowNanoseconds: window, now: now)
        ) { $0.look(now: now) }
    }

    // MARK: what other gateways have counted

    func mergeAddressKeys(
        _ counts: SharedCounts, of network: Bytes16, half: UInt64, window: UInt64, now: UInt64
    ) -> (before: Int, after: Int) {
        guard case .registers(let current, let previous) = counts,
            let current = DistinctSketch(registers: current),
            let previous = DistinctSketch(registers: previous)
        else { return (0, 0) }
        return addressKeys.update(
            network, now: now, fresh: WindowTally(windowNanoseconds: window, now: now)
        ) { $0.merge(current, previous, half: half) }
    }

    func mergeAttestations(
        _ counts: SharedCounts, from network: Bytes16, half: UInt64, window: UInt64, now: UInt64
    ) -> (before: Int, after: Int) {
        guard case .events(let current, let previous) = counts else { return (0, 0) }
        return addressAttestations.update(
            network, now: now, fresh: WindowTally(windowNanoseconds: window, now: now)
        ) {
            $0.merge(EventTally(number: current), EventTally(number: previous), half: half)
        }
    }

    func mergeConflicts(
        _ counts: SharedCounts, of keyID: KeyID, half: UInt64, window: UInt64, now: UInt64
    ) -> (before: Int, after: Int) {
        guard case .events(let current, let previous) = counts else { return (0, 0) }
        return keyConflicts.update(
            keyID, now: now, fresh: WindowTally(windowNanoseconds: window, now: now)
        ) {
            $0.merge(EventTally(number: current), EventTally(number: previous), half: half)
        }
    }

    // MARK: users

    /// What is known of the key's user; nil where the registry must be asked first. `isStale`: it
    /// should be asked again, by this caller alone.
    func user(of keyID: KeyID, now: UInt64) -> (keys: UserKeys?, isStale: Bool)? {
        guard users.find(keyID) != nil else { return nil }
        return users.update(keyID, now: now, fresh: Self.nobody(now)) { known in
            known.usedAt = now
            let isStale = now > known.readAt + Self.readNanoseconds
            if isStale { known.readAt = now }
            return (known.keys, isStale)
        }
    }

    /// The registry's word.
    func remember(_ keys: UserKeys?, of keyID: KeyID, now: UInt64) {
        users.update(keyID, now: now, fresh: Self.nobody(now)) { known in
            known.keys = keys
            known.readAt = now
        }
    }

    /// Whether it should be written down that the key is used for `user`; true once for a while.
    func shouldNote(_ user: UserPseudonym, of keyID: KeyID, now: UInt64) -> Bool {
        users.update(keyID, now: now, fresh: Self.nobody(now)) { known in
            let wait = known.notedUser == user ? Self.noteNanoseconds : Self.noteGapNanoseconds
            guard known.notedUser == nil || now > known.notedAt + wait else { return false }
            known.notedUser = user
            known.notedAt = now
            return true
        }
    }

    func forget(_ change: RegistryChange) {
        switch change {
        case .keys(let keyIDs): for keyID in keyIDs { users.forget(keyID) }
        case .everything: users.forgetAll()
        }
    }

    private static func nobody(_ now: UInt64) -> KnownUser {
        KnownUser(keys: nil, readAt: now, usedAt: now)
    }
}
