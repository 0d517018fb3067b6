import Attestation
import Bytes
import KeyStore
import Postgres

/// An enrolment with a ticket, or the retirement of a key, in a transaction of its own, because it
/// locks the row of another key.
///
/// All statements go to the server at once, so each has the condition under which it applies. The
/// predecessor's row is locked first: of two keys that want its place at once, the second one finds
/// it taken.
struct SuccessionWrite {
    private enum Content {
        case enrolment(
            KeyRecord, challenge: Bytes16, SuccessionClaim,
            reply: @Sendable (Result<EnrolmentOutcome, StoreError>) -> Void)
        case retirement(
            KeyRetirement, by: AuditAuthor, reply: @Sendable (Result<Bool, StoreError>) -> Void)
    }

    private let content: Content
    private let schema: PostgresSchema

    /// The write that `operation` asks for, or nil for another operation.
    init?(_ operation: RegistryOperation, schema: PostgresSchema) {
        switch operation {
        case .enrol(let record, let challenge, let claim?, let reply):
            content = .enrolment(record, challenge: challenge, claim, reply: reply)
        case .retire(let retirement, let author, let reply):
            content = .retirement(retirement, by: author, reply: reply)
        default: return nil
        }
        self.schema = schema
    }

    var requests: [PostgresRequest] {
        switch content {
        case .enrolment(let record, let challenge, let claim, _):
            requests(record, .bytes(challenge.array), claim)
        case .retirement(let retirement, let author, _): requests(retirement, author)
        }
    }

    private func requests(
        _ record: KeyRecord, _ challenge: PostgresValue, _ claim: SuccessionClaim
    ) -> [PostgresRequest] {
        let (keyID, predecessor) = (
            RegistryRows.value(record.keyID), RegistryRows.value(claim.predecessor)
        )
        let installation = RegistryRows.value(claim.installation)
        return [
            .prepared(PostgresSchema.spend, challenge, keyID),
            .statement(schema.lockKey, predecessor),
            .statement(schema.takePlace, keyID, predecessor, installation, challenge),
            .statement(schema.nameSuccessor, keyID),
            .statement(schema.moveUsers, keyID, predecessor),
            .statement(
                schema.enrolUnlessRevoked,
                RegistryRows.values(record) + [challenge, predecessor, installation]),
            .prepared(PostgresSchema.heldState, keyID),
        ]
    }

    private func requests(
        _ retirement: KeyRetirement, _ author: AuditAuthor
    ) -> [PostgresRequest] {
        let keys = [
            RegistryRows.value(retirement.predecessor), RegistryRows.value(retirement.successor),
        ]
        return [
            .statement(schema.lockKey, keys[0]), .statement(schema.lockPlaces, keys),
            .statement(schema.markRetired, keys),
        ] + schema.retire.map { .statement($0, keys) }
            + keys.map { .statement(schema.noteRetirement, [$0] + keys) }
            + [
                .statement(
                    schema.auditRetirement,
                    AuditRows.values(retirement.auditNote, by: author) + keys),
                .statement(schema.pruneAudit), .statement(schema.settleRetirement, keys),
                .statement(schema.pruneChanges), .statement(PostgresSchema.notify),
            ]
    }

    /// Answers by the outcomes of ``requests``, once they are committed.
    func answer(_ outcomes: [PostgresOutcome]) {
        switch content {
        case .enrolment(let record, _, _, let reply):
            reply(Self.outcome(of: record, outcomes))
        case .retirement(_, _, let reply): reply(.success(outcomes[3].rowCount == 1))
        }
    }

    private static func outcome(
        of record: KeyRecord, _ outcomes: [PostgresOutcome]
    ) -> Result<EnrolmentOutcome, StoreError> {
        guard let known = RegistryRows.state(outcomes[6]) else {
            // Neither known nor kept. If its challenge was good, its installation is not.
            return .success(outcomes[0].rowCount == 1 ? .installationRevoked : .challengeSpent)
        }
        guard outcomes[5].rows?.count == 1 else { return EnrolmentOutcome.again(record, known) }
        return .success(known.installation.map(EnrolmentOutcome.succeeded) ?? .enrolled)
    }
}

extension EnrolmentOutcome {
    static func again(
        _ record: KeyRecord, _ known: RegistryRows.KeyState
    ) -> Result<EnrolmentOutcome, StoreError> {
        again(
            record, status: known.status, publicKey: known.publicKey,
            installation: known.installation)
    }
}
