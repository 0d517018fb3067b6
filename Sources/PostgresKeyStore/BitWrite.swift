import Attestation
import KeyStore
import Postgres

/// A write of Apple's bits of a key's device, in a transaction of its own.
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

    /// The requests. A cache that hears of a key in vain only loses time.
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
    /// True, because it is no part of a group commit: it changes keys in the order of their ids,
    /// and then announces it, as commands do. With other writes in between, two gateways could wait
    /// for each other in a circle.
    var isAlone: Bool {
        switch self {
        case .storeRenewals, .keepBits, .raiseFloors, .retire: true
        case .enrol(_, _, let claim, _): claim != nil
        default: false
        }
    }
}
