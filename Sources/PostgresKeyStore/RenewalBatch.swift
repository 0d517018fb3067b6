import Attestation
import KeyStore
import Postgres

/// Renewals in a transaction of their own, in the order of their keys.
struct RenewalBatch {
    private let renewals: FencedRenewals
    private let reply: @Sendable (Result<Set<KeyID>, StoreError>) -> Void
    private let schema: PostgresSchema

    /// The batch that `operation` asks for, or nil for another operation.
    init?(_ operation: RegistryOperation, schema: PostgresSchema) {
        guard case .storeRenewals(let renewals, let reply) = operation else { return nil }
        self.renewals = renewals.sorted()
        self.reply = reply
        self.schema = schema
    }

    /// First locks the keys in the order of their ids, then changes their state, as commands do, so
    /// that the two never wait for each other in a circle. A key that others have changed meanwhile
    /// is announced, too; caches only lose time by it.
    var requests: [PostgresRequest] {
        let news = renewals.writes.filter(\.isNews)
        let notes = news.map {
            PostgresRequest.statement(schema.noteChange, RegistryRows.value($0.keyID))
        }
        let telling: [PostgresRequest] = [
            .statement(schema.pruneChanges), .statement(PostgresSchema.notify),
        ]
        return renewals.writes.map { .prepared(PostgresSchema.hold, RegistryRows.value($0.keyID)) }
            + renewals.writes.map(renew) + notes + (news.isEmpty ? [] : telling)
    }

    private func renew(_ write: RenewalWrite) -> PostgresRequest {
        // `due_at` of the state is the next due time.
        let state = RegistryRows.values(write.state, isActive: true)
        return .prepared(
            RenewalStatements.renew,
            [RegistryRows.value(write.keyID), .integer(write.dueAt)] + state + [
                PostgresValue(write.receipt), PostgresValue(write.riskMetric.map(Int64.init)),
                .text(renewals.lease), .integer(renewals.term),
            ])
    }

    /// Answers by the outcomes of ``requests``, once they are committed.
    func answer(_ outcomes: ArraySlice<PostgresOutcome>) {
        let renewed = outcomes.dropFirst(renewals.writes.count)
        let changed = zip(renewals.writes, renewed).filter { $1.rows?.count == 1 }
        reply(.success(Set(changed.map(\.0.keyID))))
    }
}

extension FencedRenewals {
    fileprivate consuming func sorted() -> FencedRenewals {
        writes.sort { $0.keyID.digest < $1.keyID.digest }
        return self
    }
}
