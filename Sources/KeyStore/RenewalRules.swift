// What ``RenewalStore`` does, for registries that keep whole records in memory.

package import AppAttest
import Bytes

extension DueReceipt {
    /// The renewal of a record's receipt. Nil if it is not due by then.
    package init?(_ record: KeyRecord, dueBy time: Int64) {
        guard record.status == .active, let receipt = record.receipt,
            let state = record.receiptState, let dueAt = state.dueAt, dueAt <= time
        else { return nil }
        self.init(
            keyID: record.keyID, publicKey: record.publicKey,
            group: ReceiptGroup(appID: record.appID, environment: record.environment),
            receipt: receipt, state: state, dueAt: dueAt, riskMetric: record.riskMetric)
    }
}

extension RenewalWrite {
    /// False if the record is not due any more as it was read.
    fileprivate func apply(to record: inout KeyRecord) -> Bool {
        guard record.status == .active, record.receiptState?.dueAt == dueAt else { return false }
        record.receiptState = state
        record.receipt = receipt ?? record.receipt
        record.riskMetric = riskMetric ?? record.riskMetric
        return true
    }
}

extension KeyRecord {
    /// False if its receipt is known, or there is none.
    package mutating func adoptReceipt() -> Bool {
        guard receipt != nil, receiptState == nil else { return false }
        receiptState = ReceiptState(dueAt: status == .active ? enrolledAt : nil)
        return status == .active
    }
}

extension [KeyID: KeyRecord] {
    /// Returns the keys whose receipts were still due as they were read.
    package mutating func store(_ writes: [RenewalWrite]) -> Set<KeyID> {
        var changed: Set<KeyID> = []
        for write in writes {
            guard var record = self[write.keyID], write.apply(to: &record) else { continue }
            self[write.keyID] = record
            changed.insert(write.keyID)
        }
        return changed
    }

    package mutating func adoptReceipts(after: KeyID?, countMax: Int) -> AdoptedReceipts {
        let behind = keys.filter { key in after.map { $0.digest < key.digest } ?? true }
        let page = behind.sorted { $0.digest < $1.digest }.prefix(countMax)
        return AdoptedReceipts(
            count: page.count { self[$0]?.adoptReceipt() ?? false }, last: page.last)
    }
}

extension [KeyRecord] {
    /// The oldest first.
    package func due(_ query: DueReceiptQuery) -> [DueReceipt] {
        let due = compactMap { DueReceipt($0, dueBy: query.dueBy) }
            .filter { $0.group == query.group }
        return Array<DueReceipt>(due.sorted { $0.dueAt < $1.dueAt }.prefix(query.countMax))
    }

    package func backlog(of group: ReceiptGroup, at now: Int64) -> ReceiptBacklog {
        let due = compactMap { DueReceipt($0, dueBy: .max) }.filter { $0.group == group }
        return ReceiptBacklog(
            dueCount: due.count { $0.dueAt <= now }, firstDueAt: due.map(\.dueAt).min())
    }
}
