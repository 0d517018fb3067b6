import Attestation
import EventLoop
import KeyStore
import SQLite

/// The registry's thread that writes: takes the operations that wait and writes all of them at
/// once.
///
/// It may wait for the lock of another process. Reads have a thread of their own, so they do not
/// wait with it.
final class RegistryWriter {
    private let queue: RegistryQueue
    private let loop: EventLoop
    private let access: RegistryAccess
    private let log: RegistryLog
    /// The reason why the log could not be emptied, apart from its readers.
    private var emptyingFailure: String?

    init(
        path: String, options: Connection.Options, queue: RegistryQueue, log: RegistryLog
    ) throws(EventLoopError) {
        self.queue = queue
        self.log = log
        loop = try EventLoop()
        access = RegistryAccess(path: path, options: options)
        _ = access.tables()
    }

    /// Runs until the queue is closed. The connection stays open.
    func run() {
        // The reader looks as often, so that a removed log is left by both or by none.
        let look = Timer(loop: loop) { [unowned self] in
            access.leaveIfMoved()
            tendLog()
        }
        look.scheduleRepeating(every: RegistryReader.changePollInterval)
        let receiver = queue.writeBell.attach(to: loop) { [unowned self] _ in work() }
        loop.run()
        receiver.close()
        look.cancel()
    }

    func close() { access.close() }

    private func work() {
        let batch = queue.takeWrites()
        write(batch.operations)
        if batch.isClosing { loop.stop() }
    }

    private func write(_ operations: [RegistryOperation]) {
        guard !operations.isEmpty else { return }
        switch access.tables() {
        case .failure(let error):
            for operation in operations { operation.fail(error) }
        case .success(let tables):
            let writes = RegistryWrites(tables: tables) { [queue] in queue.notify($0) }
            let operations = withRoom(operations)
            guard !operations.isEmpty else { return }
            if let error = writes.run(operations) { access.note(error) }
            noteLog()
        }
    }

    // MARK: the log

    /// The operations that are written however long the log is. Counters are refused beyond its
    /// bound, so that the rest of the disk is left to operations that must not be lost.
    private func withRoom(_ operations: [RegistryOperation]) -> [RegistryOperation] {
        guard log.isFull else { return operations }
        let refusal = log.refusal
        return operations.filter { operation in
            if operation.isCounters { operation.fail(refusal) }
            return !operation.isCounters
        }
    }

    /// Empties a long log once its last reader is gone, because no write may come that would have
    /// SQLite do so itself.
    private func tendLog() {
        guard noteLog() > RegistryLog.noticedByteCount, let tables = access.openTables else {
            return
        }
        do throws(SQLiteError) {
            _ = try tables.connection.emptyLog()
            emptyingFailure = nil
        } catch {
            emptyingFailure = StoreError(error).description
            access.note(error)
        }
        noteLog()
    }

    /// Returns the length of the log.
    @discardableResult
    private func noteLog() -> Int {
        // While a process changes its index the length is not known.
        guard let connection = access.openTables?.connection, let state = connection.logState
        else { return log.byteCount }
        let isLong = state.byteCount > RegistryLog.noticedByteCount
        log.note(
            byteCount: state.byteCount, obstacle: isLong ? obstacle(connection) : nil, at: .now())
        return state.byteCount
    }

    /// The reason why the log is not emptied, as far as it is known.
    private func obstacle(_ connection: Connection) -> String? {
        let readers = connection.logReaders()
        guard !readers.isEmpty else { return emptyingFailure }
        let names = readers.map {
            $0.processID == HostSystem.processID ? "this gateway" : $0.words
        }
        return names.joined(separator: " and ") + (names.count == 1 ? " is" : " are")
            + " in a transaction that reads the registry"
    }
}
