import AppAttest
import EventLoop
import KeyStore
import SQLite

/// The registry's thread: takes what waits, reads first, then writes it all at once.
///
/// It owns the connection, opens it when something is first asked, and anew after a failure that
/// the connection may not survive, so that service resumes when the file works again.
final class RegistryThread {
    private static let changePollInterval = Duration.milliseconds(250)
    private static let floorDelay = Duration.seconds(1)
    /// Changed keys named one by one; a million bytes of ids would help nobody.
    private static let namedChangeCountMax = 1000

    private let path: String
    private let options: Connection.Options
    private let queue: RegistryQueue
    private let loop: EventLoop
    private var tables: RegistryTables?
    private var dataVersion: Int64 = 0
    private var revision: Int64?
    /// The path led to another file than before.
    private var wasReplaced = false
    private var timers: [Timer] = []
    private var floorTimer: Timer?

    init(path: String, options: Connection.Options, queue: RegistryQueue) throws(EventLoopError) {
        self.path = path
        self.options = options
        self.queue = queue
        loop = try EventLoop()
        // Opened before anyone asks, so that changes are seen from the start.
        _ = openTables()
    }

    /// Runs until the queue is closed.
    func run() {
        let poll = Timer(loop: loop) { [unowned self] in pollChanges() }
        poll.scheduleRepeating(every: Self.changePollInterval)
        let floors = Timer(loop: loop) { [unowned self] in write([]) }
        timers = [poll, floors]
        floorTimer = floors
        let receiver = queue.bell.attach(to: loop) { [unowned self] _ in work() }
        loop.run()
        receiver.close()
        timers = []
        floorTimer = nil
        tables = nil
        queue.abandon(StoreError("registry: closed"))
    }

    private func work() {
        let batch = queue.takeBatch()
        read(batch.operations.filter { !$0.isWrite })
        let writes = batch.operations.filter { $0.isWrite }
        if !writes.isEmpty || batch.isClosing {
            write(writes)
        } else if let floorTimer, !floorTimer.isScheduled, queue.hasFloors {
            floorTimer.schedule(after: Self.floorDelay)
        }
        if batch.isClosing { loop.stop() }
    }

    // MARK: the connection

    /// The tables, opened where they are not.
    private func openTables() -> Result<RegistryTables, StoreError> {
        if let tables, tables.connection.fileHasMoved {
            self.tables = nil
            wasReplaced = true
        }
        if let tables { return .success(tables) }
        do throws(RegistryOpenError) {
            // Never made anew: an empty registry would turn every known key into an unknown one.
            let opened = try RegistryFile.open(
                path: path, createsIfMissing: false, options: options)
            try begin(opened)
            tables = opened
            return .success(opened)
        } catch {
            return .failure(StoreError(error))
        }
    }

    /// Takes up the changes where the last connection left them.
    private func begin(_ tables: RegistryTables) throws(RegistryOpenError) {
        do throws(SQLiteError) {
            dataVersion = try tables.currentDataVersion()
            let last = try tables.lastRevision()
            let seen = revision ?? last
            revision = last
            if wasReplaced || last != seen { queue.notify(.everything) }
            wasReplaced = false
        } catch {
            throw RegistryOpenError(error, path: path)
        }
    }

    /// Opens anew next time, where the error is one of the file and not of what was asked.
    private func note(_ error: SQLiteError) {
        if error.callsForReopening { tables = nil }
    }

    // MARK: reading

    private func read(_ operations: [RegistryOperation]) {
        guard !operations.isEmpty else { return }
        switch openTables() {
        case .failure(let error):
            for operation in operations { operation.fail(error) }
        case .success(let tables):
            // One read transaction for all takes the shared lock once.
            let isGrouped = operations.count > 1 && (try? tables.connection.begin(.deferred)) != nil
            for operation in operations { read(operation, tables) }
            if isGrouped { tables.connection.rollback() }
        }
    }

    private func read(_ operation: RegistryOperation, _ tables: RegistryTables) {
        do throws(SQLiteError) {
            switch operation {
            case .find(let keyID, let reply):
                reply(.success(try tables.find(keyID, withReceipt: false)))
            case .probe(let reply):
                try tables.readEdges()
                reply(.success(()))
            case .dueReceipts(let query, let reply): reply(.success(try tables.due(query)))
            case .receiptBacklog(let group, let now, let reply):
                reply(.success(try tables.backlog(group, at: now)))
            case .readShared(let name, let reply):
                reply(.success(try tables.shared(name)))
            case .findUser(let keyID, let since, let reply):
                reply(.success(try tables.users.find(keyID, countedSince: since)))
            case .enrol, .advance, .adoptReceipts, .storeRenewals, .note, .keepBits, .forgetUsers,
                .writeShared:
                preconditionFailure("a write among the reads")
            }
        } catch {
            note(error)
            operation.fail(StoreError(error))
        }
    }

    // MARK: writing

    private func write(_ operations: [RegistryOperation]) {
        floorTimer?.cancel()
        let floors = queue.takeFloors()
        guard !operations.isEmpty || !floors.isEmpty else { return }
        switch openTables() {
        case .failure(let error):
            for operation in operations { operation.fail(error) }
        case .success(let tables):
            let writes = RegistryWrites(tables: tables) { [queue] in queue.notify($0) }
            if let error = writes.run(operations, floors: floors) {
                note(error)
            }
        }
    }

    // MARK: changes by others

    private func pollChanges() {
        guard case .success(let tables) = openTables() else { return }
        do throws(SQLiteError) {
            let version = try tables.currentDataVersion()
            guard version != dataVersion else { return }
            dataVersion = version
            var last = revision ?? 0
            let change = try tables.changes(after: &last, countMax: Self.namedChangeCountMax)
            revision = last
            if let change { queue.notify(change) }
        } catch {
            // The next poll reads them: the version it compares with is put back.
            dataVersion = 0
            note(error)
        }
    }
}
