import AppAttest
import EventLoop
import KeyStore
import SQLite

/// The registry's thread that writes: takes what waits and writes it all at once.
///
/// It may wait for the lock of another process; nobody waits with it who only wants to read.
final class RegistryWriter {
    private let queue: RegistryQueue
    private let loop: EventLoop
    private let access: RegistryAccess

    init(path: String, options: Connection.Options, queue: RegistryQueue) throws(EventLoopError) {
        self.queue = queue
        loop = try EventLoop()
        access = RegistryAccess(path: path, options: options)
        _ = access.tables()
    }

    /// Runs until the queue is closed. The connection stays open.
    func run() {
        // The reader looks as often; a log that was removed is left by both or by none.
        let look = Timer(loop: loop) { [access] in access.leaveIfMoved() }
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
            if let error = writes.run(operations) { access.note(error) }
        }
    }
}
