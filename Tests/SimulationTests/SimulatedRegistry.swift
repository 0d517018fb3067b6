import Attestation
import Bytes
import EventLoop
import GatewayTesting
import KeyStore

/// A registry whose answers wait until the simulation sends them.
final class SimulatedRegistry: Registry, Sendable {
    private struct State {
        var records: [KeyID: KeyRecord] = [:]
        var shared: [String: SharedEntry] = [:]
        var answers: [@Sendable () -> Void] = []
        var handlers: [@Sendable (RegistryChange) -> Void] = []
        var isFailing = false
    }

    private let state = Locked(State())

    var waitingCount: Int { state.withLock { $0.answers.count } }

    /// Sends one of the answers that wait.
    func answer(_ index: Int) {
        let answer = state.withLock { $0.answers.remove(at: index) }
        answer()
    }

    func insert(_ record: KeyRecord) { state.withLock { $0.records[record.keyID] = record } }

    /// From here on no cache holds the key as active.
    func revoke(_ keyID: KeyID) { set(.revoked, of: keyID) }

    /// Every gateway hears of it.
    func set(_ status: KeyStatus, of keyID: KeyID) {
        state.withLock { $0.records[keyID]?.status = status }
        announce(keyID)
    }

    /// Tells every gateway that something about the key has changed.
    func announce(_ keyID: KeyID) {
        for handler in state.withLock({ $0.handlers }) { handler(.keys([keyID])) }
    }

    func record(of keyID: KeyID) -> KeyRecord? { state.withLock { $0.records[keyID] } }

    /// Whether calls made from now on fail.
    func setFailing(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

    /// Forgets the gateways that heard of changes: theirs do not hear any more.
    func forgetHandler(_ index: Int) { state.withLock { $0.handlers[index] = { _ in } } }

    private func ask<Value: Sendable>(
        _ reply: @escaping @Sendable (Result<Value, StoreError>) -> Void,
        _ work: @escaping @Sendable (inout State) -> Value
    ) {
        state.withLock { state in
            // What a store does, it does before it answers.
            let result: Result<Value, StoreError> =
                state.isFailing ? .failure(StoreError("down")) : .success(work(&state))
            state.answers.append { reply(result) }
        }
    }

    // MARK: Registry

    func find(_ lookUps: [RegistryLookUp]) {
        for each in lookUps { ask(each.reply) { $0.records[each.keyID] } }
    }

    func enrol(
        _ record: KeyRecord, challenge: Bytes16, succeeding claim: SuccessionClaim?,
        reply: @escaping @Sendable (Result<EnrolmentOutcome, StoreError>) -> Void
    ) {
        ask(reply) { state in
            guard state.records[record.keyID] == nil else {
                return state.records.again(record.keyID)
            }
            return state.records.enrol(record, succeeding: claim)
        }
    }

    func retire(
        _ retirement: KeyRetirement, by author: AuditAuthor,
        reply: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) { ask(reply) { $0.records.retire(retirement) } }

    func advanceDurably(
        _ keyID: KeyID, counter: UInt32,
        reply: @escaping @Sendable (Result<DurableOutcome, StoreError>) -> Void
    ) {
        ask(reply) { state in
            guard let record = state.records[keyID] else { return .unknownKey }
            guard record.status == .active else { return .revoked }
            guard counter > record.counterFloor else { return .replayed }
            state.records[keyID]?.counterFloor = counter
            return .advanced
        }
    }

    // Signals are not simulated.
    func findUser(
        of keyID: KeyID, countedSince: Int64,
        reply: @escaping @Sendable (Result<UserKeys?, StoreError>) -> Void
    ) { ask(reply) { _ in nil } }

    func note(
        _ sighting: KeySighting,
        reply: @escaping @Sendable (Result<UserKeys?, StoreError>) -> Void
    ) { ask(reply) { _ in nil } }

    func keep(
        _ bits: DeviceBits, of keyID: KeyID,
        reply: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) { ask(reply) { _ in false } }

    func forget(_ expiry: RegistryExpiry) {}

    func raiseFloors(
        _ floors: [(keyID: KeyID, counter: UInt32)],
        reply: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        ask(reply) { state in
            for floor in floors {
                let known = state.records[floor.keyID]?.counterFloor ?? .max
                state.records[floor.keyID]?.counterFloor = max(known, floor.counter)
            }
        }
    }

    func probe(reply: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
        ask(reply) { _ in }
    }

    func readShared(
        _ name: String, reply: @escaping @Sendable (Result<SharedReading, StoreError>) -> Void
    ) {
        ask(reply) { SharedReading(entry: $0.shared[name], now: 0) }
    }

    func writeShared(
        _ write: SharedWrite,
        reply: @escaping @Sendable (Result<SharedOutcome, StoreError>) -> Void
    ) {
        ask(reply) { state in
            let entry = write.entry(over: state.shared[write.name], at: 0)
            if let entry { state.shared[write.name] = entry }
            let reading = SharedReading(entry: state.shared[write.name], now: 0)
            return SharedOutcome(isWritten: entry != nil, reading: reading)
        }
    }

    // No device of the simulation has a receipt.

    func dueReceipts(
        _ query: DueReceiptQuery,
        reply: @escaping @Sendable (Result<[DueReceipt], StoreError>) -> Void
    ) {
        ask(reply) { _ in [] }
    }

    func receiptBacklog(
        _ group: ReceiptGroup, now: Int64,
        reply: @escaping @Sendable (Result<ReceiptBacklog, StoreError>) -> Void
    ) {
        ask(reply) { _ in ReceiptBacklog(dueCount: 0, firstDueAt: nil) }
    }

    func storeRenewals(
        _ renewals: FencedRenewals,
        reply: @escaping @Sendable (Result<Set<KeyID>, StoreError>) -> Void
    ) {
        ask(reply) { _ in [] }
    }

    func onChange(_ handler: @escaping @Sendable (RegistryChange) -> Void) {
        state.withLock { $0.handlers.append(handler) }
    }

    func close() {}
}
