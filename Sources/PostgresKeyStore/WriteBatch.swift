import Attestation
import Bytes
import KeyStore
import Postgres

/// Group commit: waiting operations are written in one transaction and one round trip, and answered
/// after its commit.
///
/// All batches write in one order - challenges, then keys, with everything about each, then shared
/// values, each by its id - so that two gateways, or a gateway and a command, that write the same
/// rows may wait for each other, but never in a circle.
struct WriteBatch {
    /// Many enough that a commit is shared by many writes, few enough that none waits long for the
    /// rest.
    static let operationCountMax = 256

    /// A write of a key.
    private enum KeyWrite {
        case enrol(KeyRecord, challenge: Bytes16)
        case advance(KeyID, counter: UInt32)
        case note(KeySighting)

        var keyID: KeyID {
            switch self {
            case .enrol(let record, _): record.keyID
            case .advance(let keyID, _): keyID
            case .note(let sighting): sighting.keyID
            }
        }

        var isEnrolment: Bool { if case .enrol = self { true } else { false } }
        /// The number of ``WriteBatch/requests(_:)`` that belong to it.
        var requestCount: Int { if case .note = self { 3 } else { 2 } }
    }

    let operations: [RegistryOperation]
    private let keyWrites: [(index: Int, write: KeyWrite)]
    private let shared: [(index: Int, write: SharedWrite)]
    private let floors: [(keyID: KeyID, counter: UInt32)]
    private let renewals: RenewalBatch?
    private let bits: BitWrite?
    private let succession: SuccessionWrite?
    private let expiry: RegistryExpiry?

    init(_ operations: [RegistryOperation]) {
        self.operations = operations
        var keyWrites: [(index: Int, write: KeyWrite)] = []
        var shared: [(index: Int, write: SharedWrite)] = []
        var expiry: RegistryExpiry?
        for (index, operation) in operations.enumerated() {
            switch operation {
            case .enrol(let record, let challenge, nil, _):
                keyWrites.append((index, .enrol(record, challenge: challenge)))
            case .advance(let keyID, let counter, _):
                keyWrites.append((index, .advance(keyID, counter: counter)))
            case .note(let sighting, _): keyWrites.append((index, .note(sighting)))
            case .writeShared(let write, _): shared.append((index, write))
            case .enrol, .retire, .storeRenewals, .keepBits, .raiseFloors:
                preconditionFailure("a write that goes alone among others")
            case .forget(let asked): expiry = asked
            case .find, .findUser, .probe, .dueReceipts, .receiptBacklog, .readShared:
                preconditionFailure("a read among the writes")
            }
        }
        self.keyWrites = keyWrites.sorted {
            ($0.write.keyID.digest, $0.index) < ($1.write.keyID.digest, $1.index)
        }
        self.shared = shared.sorted { $0.write.name < $1.write.name }
        floors = []
        self.expiry = expiry
        renewals = nil
        bits = nil
        succession = nil
    }

    /// A batch of one operation that ``RegistryOperation/isAlone``.
    init(alone operation: RegistryOperation, schema: PostgresSchema) {
        operations = [operation]
        keyWrites = []
        shared = []
        expiry = nil
        if case .raiseFloors(let raised, _) = operation {
            floors = raised.sorted { $0.keyID.digest < $1.keyID.digest }
        } else {
            floors = []
        }
        renewals = RenewalBatch(operation, schema: schema)
        bits = BitWrite(operation, schema: schema)
        succession = SuccessionWrite(operation, schema: schema)
    }

    var requests: [PostgresRequest] {
        var requests: [PostgresRequest] = [.statement(PostgresSchema.begin)]
        if let renewals { requests += renewals.requests }
        if let bits { requests += bits.requests }
        if let succession { requests += succession.requests }
        requests += spending
        for (_, write) in keyWrites { requests += Self.requests(write) }
        for write in shared { requests += RegistryRows.requests(write.write) }
        for floor in floors {
            requests.append(
                .prepared(
                    PostgresSchema.raiseFloor, RegistryRows.value(floor.keyID),
                    .integer(Int64(floor.counter))))
        }
        // Last, because these wait for no row: whatever others hold is left to them.
        if let expiry {
            if let moment = expiry.usersBefore {
                requests.append(.prepared(PostgresSchema.dropOld, .integer(moment)))
            }
            requests.append(.prepared(PostgresSchema.dropChallenges))
        }
        return requests + [.statement("COMMIT")]
    }

    /// The requests that spend the challenges of enrolments.
    private var spending: [PostgresRequest] {
        var enrolments: [(challenge: [UInt8], keyID: KeyID)] = []
        for case (_, .enrol(let record, let challenge)) in keyWrites {
            enrolments.append((challenge.array, record.keyID))
        }
        return enrolments.sorted { $0.challenge.lexicographicallyPrecedes($1.challenge) }.map {
            .prepared(PostgresSchema.spend, .bytes($0.challenge), RegistryRows.value($0.keyID))
        }
    }

    private static func requests(_ write: KeyWrite) -> [PostgresRequest] {
        let keyID = RegistryRows.value(write.keyID)
        switch write {
        case .enrol(let record, let challenge):
            let values = RegistryRows.values(record) + [.bytes(challenge.array)]
            return [
                .prepared(PostgresSchema.enrol, values), .prepared(PostgresSchema.heldState, keyID),
            ]
        case .advance(_, let counter):
            return [
                .prepared(PostgresSchema.advance, keyID, .integer(Int64(counter))),
                .prepared(PostgresSchema.state, keyID),
            ]
        case .note(let sighting):
            let user = UserRows.value(sighting.user)
            return [
                .prepared(PostgresSchema.note, keyID, user, .integer(sighting.milliseconds)),
                .prepared(PostgresSchema.dropSurplus, keyID, user),
                .prepared(
                    PostgresSchema.findUser, keyID, .integer(sighting.countedSince), user),
            ]
        }
    }

    /// Answers every operation by the outcomes of a transaction that was committed.
    func answer(_ outcomes: [PostgresOutcome]) {
        renewals?.answer(outcomes.dropFirst())
        bits?.answer(outcomes.dropFirst())
        succession?.answer(Array(outcomes.dropFirst()))
        if case .raiseFloors(_, let reply) = operations.first { reply(.success(())) }
        var rest = outcomes.dropFirst(1 + keyWrites.count { $0.write.isEnrolment })
        func take(_ count: Int) -> [PostgresOutcome] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        for (index, write) in keyWrites {
            Self.answer(operations[index], write, take(write.requestCount))
        }
        for write in shared {
            guard case .writeShared(_, let reply) = operations[write.index] else { continue }
            let answers = take(RegistryRows.sharedRequestCount)
            reply(
                Result { () throws(StoreError) in
                    try RegistryRows.outcome(of: write.write, answers[...])
                })
        }
    }

    private static func answer(
        _ operation: RegistryOperation, _ write: KeyWrite, _ outcomes: [PostgresOutcome]
    ) {
        switch (operation, write) {
        case (.enrol(_, _, _, let reply), .enrol(let record, _)):
            let isNew = outcomes[0].rows?.count == 1
            reply(outcome(of: record, isNew: isNew, state: outcomes[1]))
        case (.advance(_, _, let reply), _):
            let isAdvanced = outcomes[0].rowCount == 1
            reply(.success(outcome(isAdvanced: isAdvanced, state: outcomes[1])))
        case (.note(_, let reply), _):
            reply(
                Result { () throws(StoreError) in
                    guard outcomes[0].rowCount == 1 else { return nil }
                    return try outcomes[2].rows.flatMap(UserRows.userKeys)
                })
        default: preconditionFailure("an answer to another question")
        }
    }

    private static func outcome(
        of record: KeyRecord, isNew: Bool, state: PostgresOutcome
    ) -> Result<EnrolmentOutcome, StoreError> {
        if isNew { return .success(.enrolled) }
        guard let known = RegistryRows.state(state) else { return .success(.challengeSpent) }
        return EnrolmentOutcome.again(record, known)
    }

    private static func outcome(isAdvanced: Bool, state: PostgresOutcome) -> DurableOutcome {
        if isAdvanced { return .advanced }
        guard let known = RegistryRows.state(state) else { return .unknownKey }
        return known.status == .active ? .replayed : .revoked
    }

    func fail(_ error: StoreError) {
        for operation in operations { operation.fail(error) }
    }
}
