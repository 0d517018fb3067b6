import AppAttest
import KeyStore
import Postgres

/// Renewals that are written in one transaction, in the order of their keys.
struct RenewalBatch {
    private var renewals: FencedRenewals
    private let schema: PostgresSchema
    private let reply: @Sendable (Result<Set<KeyID>, StoreError>) -> Void

    init(
        _ renewals: FencedRenewals, schema: PostgresSchema,
        _ reply: @escaping @Sendable (Result<Set<KeyID>, StoreError>) -> Void
    ) {
        self.renewals = renewals
        self.renewals.writes.sort { $0.keyID.digest < $1.keyID.digest }
        self.schema = schema
        self.reply = reply
    }

    /// A key that others have changed meanwhile is told of, too: its caches lose nothing but time.
    var requests: [PostgresRequest] {
        let news = renewals.writes.filter(\.isNews)
        let notes = news.map {
            PostgresRequest.statement(schema.noteChange, RegistryRows.value($0.keyID))
        }
        let telling: [PostgresRequest] = [
            .statement(schema.pruneChanges), .statement(PostgresSchema.notify),
        ]
        return renewals.writes.map(renew) + notes + (news.isEmpty ? [] : telling)
    }

    private func renew(_ write: RenewalWrite) -> PostgresRequest {
        // `due_at` of the state is the next one.
        let state = RegistryRows.values(write.state, isActive: true)
        return .prepared(
            RenewalStatements.renew,
            [RegistryRows.value(write.keyID), .integer(write.dueAt)] + state + [
                PostgresValue(write.receipt), PostgresValue(write.riskMetric.map(Int64.init)),
                .text(renewals.lease), .integer(renewals.term),
            ])
    }

    /// By the outcomes of ``requests``, once they are committed.
    func answer(_ outcomes: ArraySlice<PostgresOutcome>) {
        let changed = zip(renewals.writes, outcomes).filter { $1.rows?.count == 1 }
        reply(.success(Set(changed.map(\.0.keyID))))
    }
}
