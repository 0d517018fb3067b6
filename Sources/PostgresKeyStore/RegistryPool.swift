import Attestation
import EventLoop
import KeyStore
import Postgres

/// The connections of a registry's thread, and the requests that wait for one.
///
/// One connection is always left to look-ups, so that none waits for a commit. While there is no
/// connection, requests fail at once: a worker answers 503, and asks again for the next request.
final class RegistryPool {
    /// The most look-ups of one round trip.
    private static let readCountMax = 256
    /// The most batches of other writes that go before the next floors.
    private static let batchesBeforeFloorsMax = 16

    private let configuration: PostgresRegistryConfiguration
    private let pin: LineagePin
    private let queue: RegistryQueue
    private var members: [Member] = []
    private var reads: [RegistryOperation] = []
    private var writes: [WriteBatch] = []
    private var waitingWrites: [RegistryOperation] = []
    /// Writes that are not waited for. They let the others go first.
    private var waitingFloors: [RegistryOperation] = []
    private var batchesBeforeFloors = 0
    /// The question of the ``ChangeListener``, which goes before look-ups.
    private var changeQuestion: ChangeQuestion?
    private var isClosing = false
    private let ended: () -> Void

    /// A connection and its present work.
    private final class Member {
        enum Work {
            case none
            case reading
            case writing
        }

        var session: PostgresSession?
        var opening: RegistryOpening?
        var work = Work.none
        /// The changes that came during a read: its answers may be older.
        var changes: [RegistryChange] = []
    }

    private struct ChangeQuestion {
        let request: PostgresRequest
        let completion: (Result<[PostgresOutcome], PostgresFailure>) -> Void
    }

    /// `ended` is called when all requests before ``close()`` are answered.
    init(
        loop: EventLoop, configuration: PostgresRegistryConfiguration, pin: LineagePin,
        queue: RegistryQueue, ended: @escaping () -> Void
    ) {
        self.configuration = configuration
        self.pin = pin
        self.queue = queue
        self.ended = ended
        for _ in 0..<max(1, configuration.poolCount) {
            let member = Member()
            let session = PostgresSession(
                loop: loop, configuration: configuration.connection, owner: self)
            member.session = session
            members.append(member)
            session.open()
        }
    }

    // MARK: requests

    func work() {
        let batch = queue.takeBatch()
        for operation in batch.operations { add(operation) }
        if batch.isClosing { isClosing = true }
        dispatch()
    }

    private func add(_ operation: RegistryOperation) {
        if let reason = outage { return operation.fail(reason) }
        // Not bounded here: the table of floors gives only so many, and waits for their answers.
        if operation.isFloors { return waitingFloors.append(operation) }
        let count = reads.count + waitingWrites.count
        guard operation.fits(behind: count, of: configuration.queueCountMax) else {
            return operation.fail(.queueFull)
        }
        if operation.isWrite { waitingWrites.append(operation) } else { reads.append(operation) }
    }

    /// The reason why no request is accepted; nil if a connection is there or may be in a moment.
    private var outage: StoreError? {
        var reason: StoreError?
        for member in members {
            guard let session = member.session else { continue }
            if session.isReady || session.failureCount == 0 { return nil }
            if reason == nil || session.isRefusedForGood {
                reason = session.lastFailure.map { StoreError($0) }
            }
        }
        return reason ?? StoreError("registry: no connection")
    }

    private func dispatch() {
        if let question = changeQuestion, usableCount > 1, let member = idleMember(for: .reading) {
            changeQuestion = nil
            ask(question, on: member)
        }
        while !reads.isEmpty, let member = idleMember(for: .reading) { read(on: member) }
        while hasWrites, let member = idleMember(for: .writing) { write(on: member) }
        guard isClosing, members.allSatisfy({ $0.work == .none }) else { return }
        if outage != nil || (reads.isEmpty && !hasWrites) { ended() }
    }

    private var hasWrites: Bool {
        !writes.isEmpty || !waitingWrites.isEmpty || !waitingFloors.isEmpty
    }

    private var usableCount: Int { members.count { $0.session?.isReady ?? false } }

    /// The connection that has been idle for longest, so that a dead one is noticed.
    private func idleMember(for work: Member.Work) -> Member? {
        if work == .writing, members.count > 1 {
            let writing = members.count { $0.work == .writing }
            if writing >= max(1, usableCount - 1) { return nil }
        }
        guard let index = members.firstIndex(where: { $0.session?.canRun ?? false }) else {
            return nil
        }
        let member = members.remove(at: index)
        members.append(member)
        return member
    }

    // MARK: reading

    private func read(on member: Member) {
        let operations = Array(reads.prefix(Self.readCountMax))
        reads.removeFirst(operations.count)
        let requests = operations.map { operation -> PostgresRequest in
            switch operation {
            case .find(let lookUp):
                return .prepared(PostgresSchema.find, RegistryRows.value(lookUp.keyID))
            case .findUser(let keyID, let since, _):
                return .prepared(
                    PostgresSchema.findUser, RegistryRows.value(keyID), .integer(since), .null)
            case .probe: return .prepared(PostgresSchema.probe)
            case .dueReceipts(let query, _): return RenewalStatements.request(query)
            case .receiptBacklog(let group, let now, _):
                return RenewalStatements.request(group, now: now)
            case .readShared(let name, _):
                return .prepared(PostgresSchema.shared, .text(name))
            case .enrol, .retire, .advance, .storeRenewals, .note, .keepBits,
                .forget, .raiseFloors, .writeShared:
                preconditionFailure("a write among the reads")
            }
        }
        member.work = .reading
        member.session?.run(requests) { [unowned self] result in
            member.work = .none
            switch result {
            case .success(let outcomes): answer(operations, outcomes)
            case .failure(let failure):
                for operation in operations { operation.fail(StoreError(failure)) }
            }
            endReading(member)
        }
    }

    private func endReading(_ member: Member) {
        // Announced after the answers, so that no cache keeps one that was older.
        for change in member.changes { queue.notify(change) }
        member.changes = []
        dispatch()
    }

    /// Asks a question of the ``ChangeListener`` on the first connection that has nothing else to
    /// do; not on the only one, because a locked table would then keep all look-ups waiting.
    /// `completion` is called once, unless the pool is closed before. Ask one question at a time.
    func ask(
        _ request: PostgresRequest,
        completion: @escaping (Result<[PostgresOutcome], PostgresFailure>) -> Void
    ) {
        changeQuestion = ChangeQuestion(request: request, completion: completion)
        dispatch()
    }

    private func ask(_ question: ChangeQuestion, on member: Member) {
        member.work = .reading
        member.session?.run([question.request]) { [unowned self] result in
            member.work = .none
            question.completion(result)
            endReading(member)
        }
    }

    private func answer(_ operations: [RegistryOperation], _ outcomes: [PostgresOutcome]) {
        for (operation, outcome) in zip(operations, outcomes) {
            switch outcome {
            case .rows(let rows): answer(operation, rows)
            case .failed(let error): operation.fail(StoreError(error))
            case .skipped, .done:
                operation.fail(
                    outcomes.failure.map { StoreError($0) } ?? StoreError("registry: no answer"))
            }
        }
    }

    private func answer(_ operation: RegistryOperation, _ rows: PostgresRows) {
        switch operation {
        case .find(let lookUp):
            lookUp.reply(
                Result { () throws(StoreError) in
                    rows.count == 0 ? nil : try RegistryRows.placedRecord(rows, 0)
                })
        case .findUser(_, _, let reply):
            reply(Result { () throws(StoreError) in try UserRows.userKeys(rows) })
        case .probe(let reply):
            let isWritable = rows.count == 1 && rows.integer(0, 0) == 0
            reply(
                isWritable
                    ? .success(()) : .failure(StoreError("registry: the server is read-only")))
        case .dueReceipts(let query, let reply):
            reply(
                Result { () throws(StoreError) in
                    try RenewalStatements.due(rows, of: query.group)
                })
        case .receiptBacklog(_, _, let reply): reply(.success(RenewalStatements.backlog(rows)))
        case .readShared(let name, let reply):
            reply(Result { () throws(StoreError) in try RegistryRows.shared(name, rows) })
        case .enrol, .retire, .advance, .storeRenewals, .note, .keepBits,
            .forget, .raiseFloors, .writeShared:
            break
        }
    }

    /// Notes a change. To be called for every one, before the next request.
    func noticed(_ change: RegistryChange) {
        for member in members where member.work == .reading { member.changes.append(change) }
        queue.notify(change)
    }

    // MARK: writing

    private func nextBatch() -> WriteBatch {
        if !writes.isEmpty { return writes.removeFirst() }
        if !waitingFloors.isEmpty {
            if waitingWrites.isEmpty || batchesBeforeFloors >= Self.batchesBeforeFloorsMax {
                batchesBeforeFloors = 0
                return WriteBatch(
                    alone: waitingFloors.removeFirst(),
                    schema: PostgresSchema(name: configuration.schema))
            }
            batchesBeforeFloors += 1
        }
        if let first = waitingWrites.first, first.isAlone {
            waitingWrites.removeFirst()
            return WriteBatch(alone: first, schema: PostgresSchema(name: configuration.schema))
        }
        let operations = Array(
            waitingWrites.prefix(WriteBatch.operationCountMax).prefix { !$0.isAlone })
        waitingWrites.removeFirst(operations.count)
        return WriteBatch(operations)
    }

    private func write(on member: Member) {
        let batch = nextBatch()
        member.work = .writing
        member.session?.run(batch.requests) { [unowned self] result in
            member.work = .none
            switch result {
            case .success(let outcomes) where outcomes.isCommitted: batch.answer(outcomes)
            case .success(let outcomes): undone(batch, outcomes, member)
            // The server may or may not have done it; to enrol again is harmless.
            case .failure(let failure): batch.fail(StoreError(failure))
            }
            dispatch()
        }
    }

    /// Nothing was changed. A write that fails does not fail its neighbours: each is tried alone,
    /// unless the failure concerns the time or the server.
    private func undone(_ batch: WriteBatch, _ outcomes: [PostgresOutcome], _ member: Member) {
        rollBack(on: member)
        guard let error = outcomes.failure else {
            return batch.fail(StoreError("registry: the server did not commit"))
        }
        let isOfThisWrite = ["22", "23", "40"].contains(String(error.state.prefix(2)))
        guard batch.operations.count > 1, isOfThisWrite else {
            return batch.fail(StoreError(error))
        }
        writes += batch.operations.map { WriteBatch([$0]) }
    }

    /// The pipeline was cut short, so the transaction is still open: rolls it back.
    private func rollBack(on member: Member) {
        guard let session = member.session, session.canRun else { return }
        member.work = .writing
        session.run([.statement("ROLLBACK")]) { [unowned self] _ in
            member.work = .none
            dispatch()
        }
    }

    // MARK: the end

    /// Ends the sessions with a server whose history another one has continued: its answers may not
    /// be true any more, and writes that it acknowledges may be lost.
    func retire(to host: PostgresConfiguration.Host) {
        for member in members {
            member.session?.prefer(host)
            guard !pin.allows(member.opening?.facts.lineage) else { continue }
            member.opening = nil
            member.session?.drop(because: .unfit("registry: \(LineagePin.retirement)"))
        }
    }

    func close() {
        for member in members { member.session?.close() }
        for operation in reads + waitingWrites + waitingFloors {
            operation.fail(StoreError("registry: closed"))
        }
        for batch in writes { batch.fail(StoreError("registry: closed")) }
        reads = []
        waitingWrites = []
        waitingFloors = []
        writes = []
    }
}

extension RegistryPool: PostgresSessionOwner {
    private func member(of session: PostgresSession) -> Member? {
        members.first { $0.session === session }
    }

    func openingStep(
        of session: PostgresSession, after outcomes: [PostgresOutcome]?
    ) -> PostgresOpeningStep {
        guard let member = member(of: session) else {
            return .refused("registry: closed", isPermanent: true)
        }
        var opening = member.opening
        if outcomes == nil || opening == nil {
            opening = RegistryOpening(configuration, tables: pin.tables, pin: pin)
        }
        let step = opening?.step(after: outcomes, at: session.host) ?? .finished
        member.opening = opening
        return step
    }

    func sessionBecameReady(_ session: PostgresSession) { dispatch() }

    func sessionFailed(_ session: PostgresSession, _ failure: PostgresFailure) {
        member(of: session)?.opening = nil
        if let reason = outage {
            let left = reads + waitingWrites + waitingFloors
            let batches = writes
            reads = []
            waitingWrites = []
            waitingFloors = []
            writes = []
            // The table of floors keeps floors that failed, and sends them again.
            for operation in left { operation.fail(reason) }
            for batch in batches { batch.fail(reason) }
        }
        dispatch()
    }

    func sessionWasNotified(_ session: PostgresSession) {}
}
