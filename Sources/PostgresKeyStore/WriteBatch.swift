import AppAttest
import Bytes
import KeyStore
import Postgres

/// Group commit: what waits is written in one transaction and one round trip, and answered after
/// its commit.
///
/// Everything is done in one order - challenges, then keys, then counters, then shared values, then
/// users, each by its id - so that two gateways that write the same rows wait for each other and
/// never in a circle.
struct WriteBatch {
    /// So long that a commit is shared by many, so short that nobody waits for the rest.
    static let operationCountMax = 256

    let operations: [RegistryOperation]
    private let enrolments: [(index: Int, record: KeyRecord, challenge: Bytes16)]
    private let advances: [(index: Int, keyID: KeyID, counter: UInt32)]
    private let shared: [(index: Int, write: SharedWrite)]
    private let sightings: [(index: Int, sighting: KeySighting)]
    private let floors: [(keyID: KeyID, counter: UInt32)]
    private let renewals: RenewalBatch?
    private let bits: BitWrite?
    /// Users that were not seen since are forgotten.
    private let usersForgottenBefore: Int64?
    /// So many at once, so that nobody waits for them.
    static let dropCountMax = 10_000

    init(_ operations: [RegistryOperation], floors: [(keyID: KeyID, counter: UInt32)] = []) {
        self.operations = operations
        var enrolments: [(index: Int, record: KeyRecord, challenge: Bytes16)] = []
        var advances: [(index: Int, keyID: KeyID, counter: UInt32)] = []
        var shared: [(index: Int, write: SharedWrite)] = []
        var sightings: [(index: Int, sighting: KeySighting)] = []
        var usersForgottenBefore: Int64?
        for (index, operation) in operations.enumerated() {
            switch operation {
            case .enrol(let record, let challenge, _):
                enrolments.append((index, record, challenge))
            case .advance(let keyID, let counter, _): advances.append((index, keyID, counter))
            case .writeShared(let write, _): shared.append((index, write))
            case .adoptReceipts, .storeRenewals, .keepBits:
                preconditionFailure("a write that goes alone among others")
            case .note(let sighting, _): sightings.append((index, sighting))
            case .forgetUsers(let milliseconds): usersForgottenBefore = milliseconds
            case .find, .findUser, .probe, .dueReceipts, .receiptBacklog, .readShared:
                preconditionFailure("a read among the writes")
            }
        }
        self.enrolments = enrolments.sorted { $0.record.keyID.digest < $1.record.keyID.digest }
        self.advances = advances.sorted { $0.keyID.digest < $1.keyID.digest }
        self.shared = shared.sorted { $0.write.name < $1.write.name }
        self.sightings = sightings.sorted { $0.sighting.keyID.digest < $1.sighting.keyID.digest }
        self.floors = floors.sorted { $0.keyID.digest < $1.keyID.digest }
        self.usersForgottenBefore = usersForgottenBefore
        renewals = nil
        bits = nil
    }

    /// One that ``RegistryOperation/isAlone``.
    init(alone operation: RegistryOperation, schema: PostgresSchema) {
        operations = [operation]
        enrolments = []
        advances = []
        shared = []
        sightings = []
        usersForgottenBefore = nil
        floors = []
        renewals = RenewalBatch(operation, schema: schema)
        bits = BitWrite(operation, schema: schema)
    }

    var requests: [PostgresRequest] {
        var requests: [PostgresRequest] = [.statement(PostgresSchema.begin)]
        if let renewals { requests += renewals.requests }
        if let bits { requests += bits.requests }
        let byChallenge = enrolments.sorted {
            $0.challenge.array.lexicographicallyPrecedes($1.challenge.array)
        }
        for enrolment in byChallenge {
            requests.append(
                .prepared(
                    PostgresSchema.spend, .bytes(enrolment.challenge.array),
                    RegistryRows.value(enrolment.record.keyID)))
        }
        for enrolment in enrolments {
            let values = RegistryRows.values(enrolment.record)
            requests.append(
                .prepared(PostgresSchema.enrol, values + [.bytes(enrolment.challenge.array)]))
            requests.append(.prepared(PostgresSchema.state, values[0]))
        }
        for advance in advances {
            let keyID = RegistryRows.value(advance.keyID)
            requests.append(
                .prepared(PostgresSchema.advance, keyID, .integer(Int64(advance.counter))))
            requests.append(.prepared(PostgresSchema.state, keyID))
        }
        for write in shared { requests += RegistryRows.requests(write.write) }
        for (_, sighting) in sightings { requests += Self.requests(sighting) }
        for floor in floors {
            requests.append(
                .prepared(
                    PostgresSchema.raiseFloor, RegistryRows.value(floor.keyID),
                    .integer(Int64(floor.counter))))
        }
        if let milliseconds = usersForgottenBefore {
            requests.append(.prepared(PostgresSchema.dropOld, .integer(milliseconds)))
        }
        return requests + [.statement("COMMIT")]
    }

    private static func requests(_ sighting: KeySighting) -> [PostgresRequest] {
        let keyID = RegistryRows.value(sighting.keyID)
        let user = UserRows.value(sighting.user)
        return [
            .prepared(PostgresSchema.note, keyID, user, .integer(sighting.milliseconds)),
            .prepared(PostgresSchema.dropSurplus, keyID, user),
            .prepared(
                PostgresSchema.findUser, keyID, .integer(sighting.countedSince), user),
        ]
    }

    /// Answers every operation by the outcomes of a transaction that was committed.
    func answer(_ outcomes: [PostgresOutcome]) {
        renewals?.answer(outcomes.dropFirst())
        bits?.answer(outcomes.dropFirst())
        var position = 1 + enrolments.count
        for enrolment in enrolments {
            guard case .enrol(_, _, let reply) = operations[enrolment.index] else { continue }
            reply(
                Self.outcome(
                    of: enrolment.record, isNew: outcomes[position].rows?.count == 1,
                    state: outcomes[position + 1]))
            position += 2
        }
        for advance in advances {
            guard case .advance(_, _, let reply) = operations[advance.index] else { continue }
            reply(
                .success(
                    Self.outcome(
                        isAdvanced: outcomes[position].rowCount == 1,
                        state: outcomes[position + 1])))
            position += 2
        }
        for write in shared {
            guard case .writeShared(_, let reply) = operations[write.index] else { continue }
            let end = position + RegistryRows.sharedRequestCount
            let answers = outcomes[position..<end]
            reply(
                Result { () throws(StoreError) in
                    try RegistryRows.outcome(of: write.write, answers)
                })
            position = end
        }
        for (index, _) in sightings {
            guard case .note(_, let reply) = operations[index] else { continue }
            reply(
                Result { () throws(StoreError) in
                    guard outcomes[position].rowCount == 1 else { return nil }
                    return try outcomes[position + 2].rows.flatMap(UserRows.userKeys)
                })
            position += 3
        }
    }

    private static func outcome(
        of record: KeyRecord, isNew: Bool, state: PostgresOutcome
    ) -> Result<EnrolmentOutcome, StoreError> {
        if isNew { return .success(.enrolled) }
        guard let known = RegistryRows.state(state) else { return .success(.challengeSpent) }
        return EnrolmentOutcome.again(
            record, status: known.status, publicKey: known.publicKey)
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
