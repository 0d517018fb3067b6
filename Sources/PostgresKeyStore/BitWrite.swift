import AppAttest
import KeyStore
import Postgres

/// A write of what Apple says about a key's device, in a transaction of its own.
struct BitWrite {
    private let bits: DeviceBits
    private let keyID: KeyID
    private let schema: PostgresSchema
    private let reply: @Sendable (Result<Bool, StoreError>) -> Void

    /// The write that `operation` asks for, or nil for another operation.
    init?(_ operation: RegistryOperation, schema: PostgresSchema) {
        guard case .keepBits(let bits, let keyID, let reply) = operation else { return nil }
        self.bits = bits
        self.keyID = keyID
        self.schema = schema
        self.reply = reply
    }

    /// Caches that hear of a key in vain lose nothing but time.
    var requests: [PostgresRequest] {
        [
            .prepared(PostgresSchema.keepBits, RegistryRows.value(keyID), .integer(bits.code)),
            .statement(schema.noteChange, RegistryRows.value(keyID)),
            .statement(schema.pruneChanges), .statement(PostgresSchema.notify),
        ]
    }

    /// Answers by the outcomes of ``requests``, once they are committed.
    func answer(_ outcomes: ArraySlice<PostgresOutcome>) {
        reply(.success(outcomes.first?.rows?.count == 1))
    }
}

extension RegistryOperation {
    /// It is no part of a group commit: it changes keys in the order of their ids, and then tells
    /// of it, as commands do; with other writes between them two gateways could wait in a circle.
    var isAlone: Bool {
        switch self {
        case .adoptReceipts, .storeRenewals, .keepBits, .raiseFloors: true
        default: false
        }
    }
}
