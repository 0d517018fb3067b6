public import Attestation
import EventLoop
public import KeyStore
import SQLite

/// The registry in one SQLite file: durable before it answers. One of its threads reads and one
/// writes, so that no look-up and no news of a change waits for a lock. Keys that are in memory are
/// read on the caller's thread.
///
/// Several processes may open the file: gateways that share counters in Redis, and the `keys`
/// command while a gateway runs. A file that is damaged, foreign, read-only or of a later version
/// is refused and never written to.
public final class SQLiteRegistry: QueuedRegistry {
    /// The bounds of a registry.
    public struct Options: Hashable, Sendable {
        /// The most look-ups that may wait, and as many writes; one more is refused at once.
        public var queueCountMax = 10_000
        /// The milliseconds for which a write waits for another process's lock: less than a request
        /// waits for the registry (`timeouts.registry`), so that the caller learns the outcome.
        public var busyMillisecondsMax: Int32 = 4_000
        /// The bytes of SQLite's page cache, for each of two connections. They keep memory from
        /// growing with the number of keys.
        public var cacheByteCount = 8 * 1024 * 1024
        /// The size up to which the file may grow, for a shared disk. Nil for the disk's own limit.
        public var fileByteCountMax: Int?
        /// A start reads every page of a file up to this length, of some 200,000 keys, which takes
        /// a tenth of a second. In a longer file damage is found at once in the first and last
        /// pages of its tables, otherwise when it is read, by `doctor`, and by each backup.
        public var checkByteCountMax = 64 * 1024 * 1024
        /// The length from which counters are not written to the log, in case a reader does not end
        /// its transaction.
        public var logByteCountMax = 1 << 30
        /// True to make a new registry if there is no file.
        public var createsIfMissing = true

        public init() {}

        var connection: Connection.Options {
            var options = Connection.Options()
            options.busyMillisecondsMax = busyMillisecondsMax
            options.cacheByteCount = cacheByteCount
            options.byteCountMax = fileByteCountMax
            return options
        }
    }

    public let queue: RegistryQueue
    private let log: RegistryLog
    /// The writer's thread, which ends after the reader's; nil once a caller joins it.
    private let thread: Locked<Thread?>
    /// The reader's connection.
    private let lent = LentAccess()

    /// Opens the file, or makes it. Blocks for as long as that takes.
    public init(path: String, options: Options = Options()) throws(RegistryOpenError) {
        // Each thread opens its own connection; this one finds out whether it can.
        let tables = try RegistryFile.open(
            path: path, createsIfMissing: options.createsIfMissing, options: options.connection)
        try RegistryFile.check(tables.connection, byteCountMax: options.checkByteCountMax)
        do {
            let queue = try RegistryQueue(
                operationCountMax: options.queueCountMax, writesApart: true)
            self.queue = queue
            let log = RegistryLog(byteCountMax: options.logByteCountMax)
            self.log = log
            thread = Locked(try Self.start(path, options.connection, queue, lent, log))
        } catch {
            throw .other(path: path, reason: "\(error)")
        }
    }

    /// Starts both threads, or none.
    private static func start(
        _ path: String, _ options: Connection.Options, _ queue: RegistryQueue, _ lent: LentAccess,
        _ log: RegistryLog
    ) throws -> Thread {
        let reader = Locked<Thread?>(
            try Thread.spawn(
                name: "registry",
                preparing: {
                    try RegistryReader(path: path, options: options, queue: queue, lent: lent)
                }
            ) { reader in reader.run() })
        do {
            return try Thread.spawn(
                name: "registry-writer",
                preparing: {
                    try RegistryWriter(path: path, options: options, queue: queue, log: log)
                }
            ) { writer in
                writer.run()
                // SQLite takes the log into the file when the last connection is closed. If two
                // were closed at once, neither might find that it is the last.
                reader.join()
                writer.close()
            }
        } catch {
            queue.close()
            reader.join()
            throw error
        }
    }

    deinit { queue.close() }

    public var writeAheadLog: RegistryLog? { log }

    public var hasKeysAtHand: Bool { lent.hasKeysAtHand }

    public func readAtHand(_ keyIDs: [KeyID]) -> [KeyAtHand] { lent.readAtHand(keyIDs) }

    /// Waits until the threads have ended; never to be called from a reply. SQLite has then taken
    /// the log into the file, unless another process has it open or the disk is full.
    public func close() {
        queue.close()
        thread.join()
        queue.abandon(StoreError("registry: closed"))
    }
}
