import Attestation
import Bytes
import KeyStore
import SQLite

/// Group commit: operations that wait are written in one transaction, with one wait for the disk,
/// and answered after it. A write that fails does not fail its neighbours.
struct RegistryWrites {
    /// An answer that may be given once the transaction is durable.
    private typealias Answer = () -> Void

    /// The number of failures of single writes in a row after which the rest is not tried.
    private static let failureCountMax = 3

    let tables: RegistryTables
    /// Announces changes that caches of this process must hear of, too.
    let notify: (RegistryChange) -> Void

    /// Writes and answers all of `operations`. Returns the last failure of the database itself.
    func run(_ operations: [RegistryOperation]) -> SQLiteError? {
        do throws(SQLiteError) {
            for answer in try commit(operations) { answer() }
            return nil
        } catch {
            tables.rollback()
            // A single write either succeeds or knows why not. A lock that was waited for in vain
            // would only be waited for again.
            guard operations.count > 1, !error.isBusy else {
                for operation in operations { operation.fail(StoreError(error)) }
                return error
            }
            return runSingly(operations)
        }
    }

    private func runSingly(_ operations: [RegistryOperation]) -> SQLiteError? {
        var lastError: SQLiteError?
        var failureCount = 0
        for operation in operations {
            if let lastError, lastError.isBusy || failureCount >= Self.failureCountMax {
                operation.fail(StoreError(lastError))
                continue
            }
            do throws(SQLiteError) {
                for answer in try commit([operation]) { answer() }
                failureCount = 0
            } catch {
                tables.rollback()
                operation.fail(StoreError(error))
                lastError = error
                failureCount += 1
            }
        }
        return lastError
    }

    private func commit(_ operations: [RegistryOperation]) throws(SQLiteError) -> [Answer] {
        try tables.connection.begin(.immediate)
        var answers: [Answer] = []
        answers.reserveCapacity(operations.count)
        for operation in operations {
            do throws(SQLiteError) {
                answers.append(
                    try tables.nested { () throws(SQLiteError) in try apply(operation) })
            } catch {
                guard tables.connection.isInTransaction else { throw error }
                answers.append { operation.fail(StoreError(error)) }
            }
        }
        try tables.connection.commit()
        return answers
    }

    private func apply(_ operation: RegistryOperation) throws(SQLiteError) -> Answer {
        switch operation {
        case .enrol(let record, let challenge, let claim, let reply):
            let outcome = try enrol(record, challenge, claim)
            return { reply(outcome) }
        case .retire(let retirement, let author, let reply):
            let isDone = try retire(retirement, author)
            return { [notify] in
                if isDone { notify(.keys([retirement.predecessor, retirement.successor])) }
                reply(.success(isDone))
            }
        case .advance(let keyID, let counter, let reply):
            let outcome = try advance(keyID, counter)
            return { reply(.success(outcome)) }
        case .storeRenewals(let renewals, let reply):
            let changed = try tables.store(renewals)
            let news = renewals.writes.filter { $0.isNews && changed.contains($0.keyID) }
            return { [notify] in
                if !news.isEmpty { notify(.keys(news.map(\.keyID))) }
                reply(.success(changed))
            }
        case .writeShared(let write, let reply):
            let outcome = try tables.write(write)
            return { reply(.success(outcome)) }
        case .note(let sighting, let reply):
            let keys = try tables.users.note(sighting)
            return { reply(.success(keys)) }
        case .keepBits(let bits, let keyID, let reply):
            let isKnown = try keep(bits, of: keyID)
            return { [notify] in
                if isKnown { notify(.keys([keyID])) }
                reply(.success(isKnown))
            }
        case .forget(let expiry):
            if let moment = expiry.usersBefore { try tables.users.forget(before: moment) }
            try tables.challenges.forget()
            return {}
        case .raiseFloors(let floors, let reply):
            // In the order of the table, so that neighbours share a page.
            for floor in floors.sorted(by: { $0.keyID.digest < $1.keyID.digest }) {
                _ = try tables.raiseFloor(floor.keyID, to: floor.counter)
            }
            return { reply(.success(())) }
        case .find, .findUser, .probe, .dueReceipts, .receiptBacklog, .readShared:
            preconditionFailure("a read among the writes")
        }
    }

    private func enrol(
        _ record: KeyRecord, _ challenge: Bytes16, _ claim: SuccessionClaim?
    ) throws(SQLiteError) -> Result<EnrolmentOutcome, StoreError> {
        if let known = try tables.find(record.keyID, withReceipt: false) {
            return EnrolmentOutcome.again(
                record, status: known.status, publicKey: known.publicKey,
                installation: known.succession?.installation)
        }
        if try tables.challenges.isSpent(challenge) { return .success(.challengeSpent) }
        let verdict = try claim.map { claim throws(SQLiteError) in try tables.verdict(on: claim) }
        try tables.challenges.spend(challenge)
        if verdict == .revoked { return .success(.installationRevoked) }
        var record = record
        if case .inherits(let place) = verdict { record.succession = place }
        _ = try tables.insert(record)
        guard let place = record.succession else { return .success(.enrolled) }
        try tables.handOver(to: record.keyID, place)
        return .success(.succeeded(place.installation))
    }

    private func retire(
        _ retirement: KeyRetirement, _ author: AuditAuthor
    ) throws(SQLiteError) -> Bool {
        guard try tables.retire(retirement) else { return false }
        try tables.note(changeOf: retirement.predecessor)
        try tables.note(changeOf: retirement.successor)
        try tables.pruneOldChanges()
        try AuditTable(tables.connection).append([retirement.auditNote], by: author)
        return true
    }

    private func keep(_ bits: DeviceBits, of keyID: KeyID) throws(SQLiteError) -> Bool {
        guard try tables.keep(bits, of: keyID) else { return false }
        try tables.note(changeOf: keyID)
        try tables.pruneOldChanges()
        return true
    }

    private func advance(
        _ keyID: KeyID, _ counter: UInt32
    ) throws(SQLiteError) -> DurableOutcome {
        if try tables.advance(keyID, to: counter) { return .advanced }
        guard let known = try tables.find(keyID, withReceipt: false) else { return .unknownKey }
        return known.status == .active ? .replayed : .revoked
    }
}
