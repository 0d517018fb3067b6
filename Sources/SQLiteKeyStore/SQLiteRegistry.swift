import EventLoop
public import KeyStore
import SQLite

/// The registry in one SQLite file: durable before it answers, on a thread of its own.
///
/// Several processes may open the file: gateways that share counters in Redis, and the `keys`
/// command while a gateway runs. A file that is damaged, foreign, read-only or of a later version
/// is refused and never written to.
public final class SQLiteRegistry: QueuedRegistry {
    /// The bounds of a registry.
    public struct Options: Hashable, Sendable {
        /// Operations that may wait; one more is refused at once.
        public var queueCountMax = 10_000
        /// How long a write waits for another process's lock. Reads never wait for a lock, but a
        /// registry that waits answers no reads meanwhile.
        public var busyMillisecondsMax: Int32 = 5_000
        /// SQLite's page cache: memory does not grow with the number of keys.
        public var cacheByteCount = 8 * 1024 * 1024
        /// The file grows no further: for a shared disk. Nil for the disk's own limit.
        public var fileByteCountMax: Int?
        /// A start reads every page of a file up to this length: a tenth of a second, 200,000 keys.
        /// In a longer one damage is found at once in the first and last pages of its tables, else
        /// when it is read, by `doctor`, and by each backup.
        public var checkByteCountMax = 64 * 1024 * 1024
        /// Whether a new registry is made where there is no file.
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
    private let thread: Locked<Thread?>

    /// Opens the file, or makes it. Blocks for as long as that takes.
    public init(path: String, options: Options = Options()) throws(RegistryOpenError) {
        // The thread opens its own connection; this one finds out whether it can.
        let tables = try RegistryFile.open(
            path: path, createsIfMissing: options.createsIfMissing, options: options.connection)
        try RegistryFile.check(tables.connection, byteCountMax: options.checkByteCountMax)
        do {
            let queue = try RegistryQueue(operationCountMax: options.queueCountMax)
            let connectionOptions = options.connection
            self.queue = queue
            thread = Locked(
                try Thread.spawn(
                    name: "registry",
                    preparing: {
                        try RegistryThread(path: path, options: connectionOptions, queue: queue)
                    }
                ) { thread in thread.run() })
        } catch {
            throw .other(path: path, reason: "\(error)")
        }
    }

    deinit { queue.close() }

    /// Waits until the thread has ended; never to be called from a reply.
    public func close() {
        queue.close()
        let ended = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        ended?.join()
    }
}
