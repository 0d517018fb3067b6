import Attestation
import Bytes
import EventLoop
import Judgement
import KeyStore
import Telemetry

/// The subject of a count.
enum SignalSubject: Hashable, Sendable {
    case network(Bytes16)
    case key(KeyID)
    /// The devices that have a bit of DeviceCheck set: 0 or 1.
    case deviceBit(Int)
    /// The attestation certificate whose public key has this digest.
    case certificate(Bytes32)
    case installation(InstallationID)

    /// True if the subject is a key.
    var isKey: Bool { if case .key = self { true } else { false } }

    /// The bytes that name the subject, the same on every gateway.
    var bytes: [UInt8] {
        switch self {
        case .network(let network): network.array
        case .key(let keyID): keyID.digest.array
        case .deviceBit(let index): [UInt8(index)]
        case .certificate(let keyDigest): keyDigest.array
        case .installation(let installation): installation.value.array
        }
    }
}

/// The event that is counted.
enum SignalEvent: Sendable {
    /// One more event.
    case once
    /// No event: the count is only read.
    case look
    /// A thing with this hash, which counts once however often it comes.
    case distinct(UInt64)
    /// A counter of a key was accepted.
    case counter(UInt32)

    /// The event of a key, which counts once however often it comes.
    static func key(_ keyID: KeyID) -> SignalEvent { .distinct(keyID.digest.word0) }

    /// The event in the form that gateways send each other.
    var shared: SharedTally.Change {
        switch self {
        case .once: .event
        case .look: .look
        case .distinct(let hash): .distinct(hash)
        case .counter(let counter): .counter(counter)
        }
    }
}

/// The gateway's memory of addresses, keys and users for its signals, in tables of fixed size that
/// the workers share.
final class SignalTallies: Sendable {
    /// The user for whom a key was used last, as the registry told.
    struct KnownUser: Remembered {
        /// The user's keys, or nil if the key was used for no user.
        var keys: UserKeys?
        /// The time at which the registry told.
        var readAt: UInt64
        /// The user that the registry was last told about, and the time of that.
        var notedUser: UserPseudonym?
        var notedAt: UInt64 = 0
        var usedAt: UInt64

        func worth(at now: UInt64) -> UInt64 { usedAt }
    }

    /// The time after which the user is read again, because other gateways, and other keys of the
    /// user, may change it.
    static let readNanoseconds: UInt64 = 60 * 1_000_000_000
    /// The interval in which a key's use for the same user is written down: kept times are exact to
    /// this.
    static let noteNanoseconds: UInt64 = 3600 * 1_000_000_000
    /// The shortest time between two notes of a key's use, for whatever user.
    static let noteGapNanoseconds: UInt64 = 1_000_000_000

    private typealias Table<Kind: Tally> = SubjectTable<SignalSubject, WindowTally<Kind>>

    /// The counts of different things by ``Signal``, so that a flood of one kind does not push out
    /// another.
    private let sketches: [Table<DistinctSketch>]
    /// The counts of events, likewise.
    private let events: [Table<EventTally>]
    private let counters: Table<CounterTally>
    private let users: SubjectTable<KeyID, KnownUser>

    init(subjectCountMax: Int = 16_384) {
        sketches = Signal.allCases.map { _ in SubjectTable(subjectCountMax: subjectCountMax) }
        events = Signal.allCases.map { _ in SubjectTable(subjectCountMax: subjectCountMax) }
        counters = SubjectTable(subjectCountMax: subjectCountMax)
        users = SubjectTable(subjectCountMax: subjectCountMax)
    }

    // MARK: counts

    /// Counts `event` for `subject`, and returns the count before and after.
    func count(
        _ event: SignalEvent, of subject: SignalSubject, for signal: Signal, window: UInt64,
        now: UInt64
    ) -> TallyChange {
        switch event {
        case .distinct(let hash):
            update(sketches[signal.rawValue], subject, window, now) {
                typealias Tally = WindowTally<DistinctSketch>
                let interval =
                    subject.isKey ? Tally.keySharingNanoseconds : Tally.sharingNanoseconds
                return $0.add(hash, now: now, sharedEvery: interval)
            }
        case .counter(let counter):
            update(counters, subject, window, now) { $0.add(UInt64(counter), now: now) }
        case .once: update(events[signal.rawValue], subject, window, now) { $0.add(now: now) }
        case .look: update(events[signal.rawValue], subject, window, now) { $0.look(now: now) }
        }
    }

    /// The count of different things, as it would be with the one that has this hash; as it is if
    /// the hash is nil. Nothing changes, because the request may still be refused.
    func expected(
        _ hash: UInt64?, of subject: SignalSubject, for signal: Signal, now: UInt64
    ) -> Int {
        guard var tally = sketches[signal.rawValue].find(subject) else {
            return hash == nil ? 0 : 1
        }
        guard let hash else { return tally.count(now: now) }
        return tally.add(hash, now: now).after
    }

    /// The number of the key's signatures that did not come to this gateway. Nothing changes.
    func gapCount(of subject: SignalSubject, now: UInt64) -> Int {
        var tally = counters.find(subject)
        return tally?.count(now: now) ?? 0
    }

    /// Merges the counts of all gateways, in the half with that number and in the one before.
    /// Returns the count before and after.
    func merge(
        _ counts: SharedCounts, of subject: SignalSubject, for signal: Signal, half: UInt64,
        window: UInt64, now: UInt64
    ) -> (before: Int, after: Int) {
        switch counts {
        case .sketches(let current, let previous):
            guard let current = DistinctSketch(bytes: current),
                let previous = DistinctSketch(bytes: previous)
            else { return (0, 0) }
            return update(sketches[signal.rawValue], subject, window, now) {
                $0.merge(current, previous, half: half, now: now)
            }
        case .counters(let current, let previous):
            let spans = (CounterTally(current), CounterTally(previous))
            return update(counters, subject, window, now) {
                $0.merge(spans.0, spans.1, half: half, now: now)
            }
        case .events(let current, let previous):
            let counted = (EventTally(number: current), EventTally(number: previous))
            return update(events[signal.rawValue], subject, window, now) {
                $0.merge(counted.0, counted.1, half: half, now: now)
            }
        }
    }

    private func update<Kind: Tally, Result: Sendable>(
        _ table: SubjectTable<SignalSubject, WindowTally<Kind>>, _ subject: SignalSubject,
        _ window: UInt64, _ now: UInt64, _ body: (inout WindowTally<Kind>) -> Result
    ) -> Result {
        table.update(
            subject, now: now, fresh: WindowTally(windowNanoseconds: window, now: now), body)
    }

    // MARK: users

    /// The known user of the key, or nil if the registry must be asked first. `isStale` says that
    /// this caller, and no other, should ask again.
    func user(of keyID: KeyID, now: UInt64) -> (keys: UserKeys?, isStale: Bool)? {
        guard users.find(keyID) != nil else { return nil }
        return users.update(keyID, now: now, fresh: Self.nobody(now)) { known in
            known.usedAt = now
            let isStale = now > known.readAt + Self.readNanoseconds
            if isStale { known.readAt = now }
            return (known.keys, isStale)
        }
    }

    /// Remembers the registry's answer.
    func remember(_ keys: UserKeys?, of keyID: KeyID, now: UInt64) {
        users.update(keyID, now: now, fresh: Self.nobody(now)) { known in
            known.keys = keys
            known.readAt = now
        }
    }

    /// True if the use of the key for `user` should be written down; true once for a while.
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
        case .everything, .replaced: users.forgetAll()
        }
    }

    private static func nobody(_ now: UInt64) -> KnownUser {
        KnownUser(keys: nil, readAt: now, usedAt: now)
    }
}
