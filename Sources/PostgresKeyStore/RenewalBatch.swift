import Attestation
import KeyStore
import Postgres

/// A write about receipts in a transaction of its own: renewals in the order of their keys, or an
/// adoption.
struct RenewalBatch {
    private let operation: RegistryOperation
    private let schema: PostgresSchema

    /// The batch that `operation` asks for, or nil for another operation.
    init?(_ operation: RegistryOperation, schema: PostgresSchema) {
        switch operation {
        case .storeRenewals(let renewals, let reply):
            self.operation = .storeRenewals(renewals.sorted(), reply: reply)
        case .adoptReceipts: self.operation = operation
        default: return nil
        }
        self.schema = schema
    }

    var requests: [PostgresRequest] {
        switch operation {
        case .storeRenewals(let renewals, _): requests(renewals)
        case .adoptReceipts(let after, let countMax, _):
            [RenewalStatements.adoption(after: after, countMax: countMax)]
        default: []
        }
    }

    /// First locks the keys in the order of their ids, then changes their state, as commands do, so
    /// that the two never wait for each other in a circle. A key that others have changed meanwhile
    /// is announced, too; caches only lose time by it.
    private func requests(_ renewals: FencedRenewals) -> [PostgresRequest] {
        let news = renewals.writes.filter(\.isNews)
        let notes = news.map {
            PostgresRequest.statement(schema.noteChange, RegistryRows.value($0.keyID))
        }
        let telling: [PostgresRequest] = [
            .statement(schema.pruneChanges), .statement(PostgresSchema.notify),
        ]
        return renewals.writes.map { .prepared(PostgresSchema.hold, RegistryRows.value($0.keyID)) }
            + renewals.writes.map { renew($0, renewals) } + notes + (news.isEmpty ? [] : telling)
    }

    private func renew(_ write: RenewalWrite, _ renewals: FencedRenewals) -> PostgresRequest {
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
        switch operation {
        case .storeRenewals(let renewals, let reply):
            let renewed = outcomes.dropFirst(renewals.writes.count)
            let changed = zip(renewals.writes, renewed).filter { $1.rows?.count == 1 }
            reply(.success(Set(changed.map(\.0.keyID))))
        case .adoptReceipts(_, _, let reply):
            reply(
                Result { () throws(StoreError) in
                    guard let rows = outcomes.first?.rows else {
                        throw StoreError("registry: no answer")
                    }
                    return try RenewalStatements.adopted(rows)
                })
        default: break
        }
    }
}

extension FencedRenewals {
    fileprivate consuming func sorted() -> FencedRenewals {
        writes.sort { $0.keyID.digest < $1.keyID.digest }
        return self
    }
}
