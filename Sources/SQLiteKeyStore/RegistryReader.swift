import Attestation
import EventLoop
import KeyStore
import SQLite

/// The registry's thread that reads: answers look-ups, and hears of changes by others.
///
/// With a write-ahead log no reader waits for a writer, of this process or another, so nothing here
/// takes longer than reading.
final class RegistryReader {
    static let changePollInterval = Duration.milliseconds(250)
    /// The most changed keys that are named one by one; naming more would not be worth a million
    /// bytes of ids.
    private static let namedChangeCountMax = 1000
    /// Readers meet a lock only while another process repairs or removes the log.
    private static let busyMillisecondsMax: Int32 = 100

    private let queue: RegistryQueue
    private let loop: EventLoop
    /// The connection, which workers borrow.
    private let lent: LentAccess
    /// News and answers in their order, to be sent when the connection is not in use any more.
    private var messages: [() -> Void] = []
    private var dataVersion: Int64 = 0
    /// The place in the history up to which the changes were read.
    private var seen: HistoryPlace?
    private var hasToldOfTear = false

    init(
        path: String, options: Connection.Options, queue: RegistryQueue, lent: LentAccess
    ) throws(EventLoopError) {
        self.queue = queue
        self.lent = lent
        loop = try EventLoop()
        var options = options
        options.busyMillisecondsMax = min(Self.busyMillisecondsMax, options.busyMillisecondsMax)
        let access = RegistryAccess(path: path, options: options) {
            [unowned self] tables, place throws(SQLiteError) in
            try begin(tables, place)
            lent.fileWasOpened()
        }
        // Opened before the first request, so that changes are seen from the start.
        _ = access.tables()
        lent.open(access)
        sendMessages()
    }

    /// Runs until the queue is closed.
    func run() {
        let poll = Timer(loop: loop) { [unowned self] in use { pollChanges($0) } }
        poll.scheduleRepeating(every: Self.changePollInterval)
        let receiver = queue.bell.attach(to: loop) { [unowned self] _ in work() }
        loop.run()
        receiver.close()
        poll.cancel()
        lent.close()
    }

    private func work() {
        let batch = queue.takeReads()
        if !batch.operations.isEmpty { use { read(batch.operations, $0) } }
        if batch.isClosing { loop.stop() }
    }

    private func use(_ body: (RegistryAccess) -> Void) {
        lent.use(body)
        sendMessages()
    }

    private func sendMessages() {
        for send in messages { send() }
        messages.removeAll(keepingCapacity: true)
    }

    // MARK: reading

    private func read(_ operations: [RegistryOperation], _ access: RegistryAccess) {
        switch access.tables() {
        case .failure(let error):
            messages += operations.map { operation in { operation.fail(error) } }
        case .success(let tables):
            tables.connection.readSparingly { () throws(Never) in
                tables.withOneSnapshot(for: operations.count) {
                    for operation in operations {
                        messages.append(answer(operation, tables, access))
                    }
                }
            }
        }
    }

    /// Reads the answer to a request. The result sends it.
    private func answer(
        _ operation: RegistryOperation, _ tables: RegistryTables, _ access: RegistryAccess
    ) -> () -> Void {
        do throws(SQLiteError) {
            switch operation {
            case .find(let lookUp):
                let record = try tables.find(lookUp.keyID, withReceipt: false)
                return { lookUp.reply(.success(record)) }
            case .probe(let reply):
                try tables.readEdges()
                return { reply(.success(())) }
            case .dueReceipts(let query, let reply):
                let receipts = try tables.due(query)
                return { reply(.success(receipts)) }
            case .receiptBacklog(let group, let now, let reply):
                let backlog = try tables.backlog(group, at: now)
                return { reply(.success(backlog)) }
            case .readShared(let name, let reply):
                let reading = try tables.shared(name)
                return { reply(.success(reading)) }
            case .findUser(let keyID, let since, let reply):
                let user = try tables.users.find(keyID, countedSince: since)
                return { reply(.success(user)) }
            case .enrol, .retire, .advance, .storeRenewals, .note, .keepBits, .forget,
                .raiseFloors, .writeShared:
                preconditionFailure("a write among the reads")
            }
        } catch {
            access.note(error)
            return { operation.fail(StoreError(error)) }
        }
    }

    // MARK: changes by others

    /// Takes up the changes where the last connection left them.
    private func begin(
        _ tables: RegistryTables, _ place: RegistryAccess.Place
    ) throws(SQLiteError) {
        dataVersion = try tables.currentDataVersion()
        let now = try tables.historyPlace()
        let isContinued = try seen.map { seen throws(SQLiteError) in
            try tables.continues(seen, to: now)
        }
        let isNew = seen != now
        seen = now
        // An inode is used again once its file is gone, but the history in a file stays in it.
        if place == .replaced || isContinued == false {
            tell(.replaced)
        } else if place == .returned || (isContinued != nil && isNew) {
            tell(.everything)
        }
    }

    private func tell(_ change: RegistryChange) {
        messages.append { [queue] in queue.notify(change) }
    }

    private func pollChanges(_ access: RegistryAccess) {
        let start = MonotonicInstant.now()
        let tables: RegistryTables
        switch access.tables() {
        case .success(let opened): tables = opened
        case .failure(let error):
            queue.hearing.failed(error.description)
            // Revocations are not heard of any more, so that cached records must not be used.
            if access.tear != nil, !hasToldOfTear { tell(.replaced) }
            hasToldOfTear = access.tear != nil
            return
        }
        do throws(SQLiteError) {
            try tables.connection.readSparingly { () throws(SQLiteError) in
                guard try tables.currentDataVersion() != dataVersion else { return }
                // Of one moment, because a file may be overwritten at any time.
                try tables.connection.transaction(.deferred) { () throws(SQLiteError) in
                    dataVersion = try tables.currentDataVersion()
                    try readChanges(tables)
                }
            }
            queue.hearing.heard(asOf: start)
        } catch {
            // The version for comparison is put back, so that the next poll reads them.
            dataVersion = 0
            queue.hearing.failed(StoreError(error).description)
            access.note(error)
        }
    }

    private func readChanges(_ tables: RegistryTables) throws(SQLiteError) {
        let now = try tables.historyPlace()
        // An older copy that was put back may have got other changes meanwhile.
        let change: RegistryChange?
        if let seen, try !tables.continues(seen, to: now) {
            change = .replaced
        } else {
            var last = seen?.revision ?? 0
            change = try tables.changes(after: &last, countMax: Self.namedChangeCountMax)
        }
        seen = now
        if let change { tell(change) }
    }
}
