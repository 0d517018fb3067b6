import Attestation
import Bytes
import Foundation
import GatewayTesting
import KeyStore

/// A registry in memory that answers on a thread of its own: at once, late or not at all, as a test
/// says.
final class ScriptedRegistry: Registry, @unchecked Sendable {
    enum Call: Hashable, Sendable {
        case find(KeyID)
        case enrol(KeyID)
        case advance(KeyID, UInt32)
        case findUser(KeyID)
        case note(KeyID)
        case retire(KeyRetirement)
    }

    let hearing: ChangeHearing?
    let writeAheadLog: RegistryLog?
    /// Guards every member; broadcast for each call.
    private let lock = NSCondition()
    private let thread = DispatchQueue(label: "scripted registry")
    private var records: [KeyID: KeyRecord] = [:]
    private var shared: [String: SharedEntry] = [:]
    private var storeNow: Int64 = 1_790_000_000_000
    private var challenges: [Bytes16: KeyID] = [:]
    private var users = SightingList()
    private var failure: StoreError?
    private var gate: Gate?
    private var failsRetirements = false
    private var keyGate: (keyID: KeyID, gate: Gate)?
    private var writeGate: Gate?
    private var made: [Call] = []
    private var askedTogether: [Int] = []
    private var atHand: Set<KeyID>?
    private var tellsWhatIsAtHand = true
    private var handlers: [@Sendable (RegistryChange) -> Void] = []

    /// `hearing`: what it says of changes by others. `log`: its write-ahead log. Nil if there are
    /// none.
    init(hearing: ChangeHearing? = nil, log: RegistryLog? = nil) {
        self.hearing = hearing
        writeAheadLog = log
    }

    /// What was asked so far, in order.
    var calls: [Call] { lock.withLock { made } }
    /// Of how many keys each look-up was.
    var lookUpCounts: [Int] { lock.withLock { askedTogether } }
    /// Whether anybody hears of changes.
    var isHeard: Bool { lock.withLock { !handlers.isEmpty } }
    var recordCount: Int { lock.withLock { records.count } }

    func record(of keyID: KeyID) -> KeyRecord? { lock.withLock { records[keyID] } }

    /// Every call fails with this from now on, nil to work again.
    func fail(_ reason: String?) { lock.withLock { failure = reason.map { StoreError($0) } } }

    /// As ``fail(_:)``, of this kind.
    func fail(with error: StoreError) { lock.withLock { failure = error } }

    /// Retirements alone fail.
    func failRetirements(_ fails: Bool) { lock.withLock { failsRetirements = fails } }

    /// Look-ups of this key alone wait until the gate opens.
    func hold(_ keyID: KeyID, until gate: Gate) { lock.withLock { keyGate = (keyID, gate) } }

    /// Calls made from now on wait until the gate opens.
    func hold(until gate: Gate) { lock.withLock { self.gate = gate } }

    /// Enrolments and durable counters alone wait until the gate opens.
    func holdWrites(until gate: Gate) { lock.withLock { writeGate = gate } }

    /// From now on these keys can be read without waiting; nil if reading is not worth a try.
    ///
    /// If that is not told, whoever asks before is told that there are none.
    func haveAtHand(_ keyIDs: [KeyID]?, isTold: Bool = true) {
        lock.withLock {
            atHand = keyIDs.map { Set($0) }
            tellsWhatIsAtHand = isTold
        }
    }

    /// Waits until `count` calls have been made.
    func waitForCalls(_ count: Int) throws {
        let limit = ChildProcess.deadline
        try lock.withLock {
            while made.count < count {
                guard lock.wait(until: limit) else { throw StoreError("only \(made)") }
            }
        }
    }

    /// Moves the store's clock.
    func pass(_ duration: Duration) {
        lock.withLock { storeNow += Int64(duration / .milliseconds(1)) }
    }

    /// What stands under this name.
    func sharedValue(_ name: String) -> SharedEntry? { lock.withLock { shared[name] } }

    /// Values that are shared are gone, as after a backup from before them.
    func loseShared() { lock.withLock { shared = [:] } }

    func insert(_ record: KeyRecord) { lock.withLock { records[record.keyID] = record } }

    /// Another process changes a key's status.
    func set(_ status: KeyStatus, of keyID: KeyID) {
        let handlers = lock.withLock {
            records[keyID]?.status = status
            return self.handlers
        }
        for handler in handlers { handler(.keys([keyID])) }
    }

    /// Tells of a change, of which the records know nothing.
    func tell(_ change: RegistryChange) {
        for handler in lock.withLock({ handlers }) { handler(change) }
    }

    /// Another gateway has learned what Apple says of the key's device.
    func set(riskMetric: UInt32, of keyID: KeyID) {
        let handlers = lock.withLock {
            records[keyID]?.riskMetric = riskMetric
            return self.handlers
        }
        for handler in handlers { handler(.keys([keyID])) }
    }

    private func answer<Value: Sendable>(
        _ call: Call?, _ reply: @escaping @Sendable (Result<Value, StoreError>) -> Void,
        _ work: @escaping @Sendable (ScriptedRegistry) -> Value
    ) {
        let (gate, isAside) = lock.withLock {
            if let call { made.append(call) }
            lock.broadcast()
            switch call {
            case .enrol, .advance: return (writeGate ?? self.gate, writeGate != nil)
            default: return (self.gate, false)
            }
        }
        (isAside ? DispatchQueue.global() : thread).async { [self] in
            gate?.wait()
            let result: Result<Value, StoreError> = lock.withLock {
                failure.map { .failure($0) } ?? .success(work(self))
            }
            reply(result)
        }
    }

    // MARK: Registry

    private func find(
        _ keyID: KeyID, _ reply: @escaping @Sendable (Result<KeyRecord?, StoreError>) -> Void
    ) {
        let held = lock.withLock { keyGate?.keyID == keyID ? keyGate?.gate : nil }
        guard let held else { return answer(.find(keyID), reply) { $0.records[keyID] } }
        lock.withLock {
            made.append(.find(keyID))
            lock.broadcast()
        }
        DispatchQueue.global().async { [self] in
            held.wait()
            reply(.success(lock.withLock { records[keyID] }))
        }
    }

    func find(_ lookUps: [RegistryLookUp]) {
        lock.withLock { askedTogether.append(lookUps.count) }
        for each in lookUps { find(each.keyID, each.reply) }
    }

    var hasKeysAtHand: Bool { lock.withLock { atHand != nil && tellsWhatIsAtHand } }

    func readAtHand(_ keyIDs: [KeyID]) -> [KeyAtHand] {
        lock.withLock {
            keyIDs.map { atHand?.contains($0) == true ? .read(records[$0]) : .notAtHand }
        }
    }

    func enrol(
        _ record: KeyRecord, challenge: Bytes16, succeeding claim: SuccessionClaim?,
        reply: @escaping @Sendable (Result<EnrolmentOutcome, StoreError>) -> Void
    ) {
        answer(.enrol(record.keyID), reply) { registry in
            if let owner = registry.challenges[challenge], owner != record.keyID {
                return .challengeSpent
            }
            switch registry.records[record.keyID]?.status {
            case .active: return registry.records.again(record.keyID)
            case .revoked: return .revoked
            case .erased: return .erased
            case nil:
                registry.challenges[challenge] = record.keyID
                return registry.records.enrol(record, succeeding: claim)
            }
        }
    }

    func retire(
        _ retirement: KeyRetirement, by author: AuditAuthor,
        reply: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) {
        if lock.withLock({ failsRetirements }) {
            lock.withLock {
                made.append(.retire(retirement))
                lock.broadcast()
            }
            return thread.async { reply(.failure(StoreError("the disk is full"))) }
        }
        answer(.retire(retirement), reply) { registry in
            let isDone = registry.records.retire(retirement)
            let changed = [retirement.predecessor, retirement.successor]
            for handler in isDone ? registry.handlers : [] { handler(.keys(changed)) }
            return isDone
        }
    }

    func advanceDurably(
        _ keyID: KeyID, counter: UInt32,
        reply: @escaping @Sendable (Result<DurableOutcome, StoreError>) -> Void
    ) {
        answer(.advance(keyID, counter), reply) { registry in
            guard let record = registry.records[keyID] else { return .unknownKey }
            guard record.status == .active else { return .revoked }
            guard counter > record.counterFloor else { return .replayed }
            registry.records[keyID]?.counterFloor = counter
            return .advanced
        }
    }

    func findUser(
        of keyID: KeyID, countedSince: Int64,
        reply: @escaping @Sendable (Result<UserKeys?, StoreError>) -> Void
    ) {
        answer(.findUser(keyID), reply) { $0.users.last(of: keyID, countedSince: countedSince) }
    }

    func note(
        _ sighting: KeySighting,
        reply: @escaping @Sendable (Result<UserKeys?, StoreError>) -> Void
    ) {
        answer(.note(sighting.keyID), reply) { $0.users.note(sighting) }
    }

    func keep(
        _ bits: DeviceBits, of keyID: KeyID,
        reply: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) {
        answer(nil, reply) { registry in
            guard let status = registry.records[keyID]?.status, status != .erased else {
                return false
            }
            registry.records[keyID]?.deviceBits = bits
            for handler in registry.handlers { handler(.keys([keyID])) }
            return true
        }
    }

    func forget(_ expiry: RegistryExpiry) {}

    func raiseFloors(
        _ floors: [(keyID: KeyID, counter: UInt32)],
        reply: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        answer(nil, reply) { registry in
            for floor in floors {
                let known = registry.records[floor.keyID]?.counterFloor ?? .max
                registry.records[floor.keyID]?.counterFloor = max(known, floor.counter)
            }
        }
    }

    func probe(reply: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
        answer(nil, reply) { _ in }
    }

    func readShared(
        _ name: String, reply: @escaping @Sendable (Result<SharedReading, StoreError>) -> Void
    ) {
        answer(nil, reply) { SharedReading(entry: $0.shared[name], now: $0.storeNow) }
    }

    func writeShared(
        _ write: SharedWrite,
        reply: @escaping @Sendable (Result<SharedOutcome, StoreError>) -> Void
    ) {
        answer(nil, reply) { registry in
            let entry = write.entry(over: registry.shared[write.name], at: registry.storeNow)
            if let entry { registry.shared[write.name] = entry }
            let reading = SharedReading(
                entry: registry.shared[write.name], now: registry.storeNow)
            return SharedOutcome(isWritten: entry != nil, reading: reading)
        }
    }

    // Nothing here renews receipts: ``ReceiptRenewalTests`` and the stores' own tests do.

    func dueReceipts(
        _ query: DueReceiptQuery,
        reply: @escaping @Sendable (Result<[DueReceipt], StoreError>) -> Void
    ) {
        answer(nil, reply) { _ in [] }
    }

    func receiptBacklog(
        _ group: ReceiptGroup, now: Int64,
        reply: @escaping @Sendable (Result<ReceiptBacklog, StoreError>) -> Void
    ) {
        answer(nil, reply) { _ in ReceiptBacklog(dueCount: 0, firstDueAt: nil) }
    }

    func storeRenewals(
        _ renewals: FencedRenewals,
        reply: @escaping @Sendable (Result<Set<KeyID>, StoreError>) -> Void
    ) {
        answer(nil, reply) { _ in [] }
    }

    func onChange(_ handler: @escaping @Sendable (RegistryChange) -> Void) {
        lock.withLock { handlers.append(handler) }
    }

    func close() {}
}

/// Sightings in memory, by the rules of a registry.
private struct SightingList {
    private struct Row {
        let keyID: KeyID
        let user: UserPseudonym
        let firstSeen: Int64
        var lastSeen: Int64
    }

    private var rows: [Row] = []

    mutating func note(_ sighting: KeySighting) -> UserKeys? {
        let known = rows.firstIndex { $0.keyID == sighting.keyID && $0.user == sighting.user }
        if let known {
            rows[known].lastSeen = sighting.milliseconds
        } else {
            rows.append(
                Row(
                    keyID: sighting.keyID, user: sighting.user, firstSeen: sighting.milliseconds,
                    lastSeen: sighting.milliseconds))
        }
        return last(of: sighting.keyID, countedSince: sighting.countedSince)
    }

    func last(of keyID: KeyID, countedSince: Int64) -> UserKeys? {
        let own = rows.filter { $0.keyID == keyID }
        guard let row = own.max(by: { $0.lastSeen < $1.lastSeen }) else { return nil }
        let users = rows.filter { $0.user == row.user }
        return UserKeys(
            user: row.user, firstSeen: row.firstSeen,
            keyCount: users.count { $0.lastSeen >= countedSince },
            hasEarlierKey: users.contains { $0.firstSeen < row.firstSeen })
    }
}
