import EventLoop
public import KeyStore
import Postgres

/// The registry in PostgreSQL: durable before it answers, shared by gateways on many machines.
///
/// A thread of its own runs an event loop with all connections, so workers never wait for the
/// network. While the server is away every request fails at once, and service resumes by itself.
public final class PostgresRegistry: QueuedRegistry {
    public let queue: RegistryQueue
    private let thread: Locked<Thread?>

    /// Makes the tables, or brings them up to date. Throws an error that no later attempt would
    /// avoid: a wrong password, tables of a later version. A server that cannot be reached now does
    /// not prevent the start. Blocks for as long as that takes.
    public init(_ configuration: PostgresRegistryConfiguration) throws(StoreError) {
        let lineage: ServerLineage?
        do throws(PostgresOpenError) {
            lineage = try BlockingSession(configuration, tables: .made).opening.facts.lineage
        } catch {
            lineage = nil
            if error.isPermanent { throw error.reason }
        }
        do {
            let queue = try RegistryQueue(operationCountMax: configuration.queueCountMax)
            self.queue = queue
            thread = Locked(
                try Thread.spawn(
                    name: "registry",
                    preparing: {
                        try PostgresRegistryThread(configuration, lineage, queue: queue)
                    }
                ) { thread in thread.run() })
        } catch {
            throw StoreError("registry: \(error)")
        }
    }

    deinit { queue.close() }

    /// Waits until the thread has ended; never to be called from a reply.
    public func close() {
        queue.close()
        thread.join()
    }
}

/// The part that runs on the registry's thread.
private final class PostgresRegistryThread {
    private let loop: EventLoop
    private let configuration: PostgresRegistryConfiguration
    private let queue: RegistryQueue
    private let pin: LineagePin

    init(
        _ configuration: PostgresRegistryConfiguration, _ lineage: ServerLineage?,
        queue: RegistryQueue
    ) throws(EventLoopError) {
        self.configuration = configuration
        pin = LineagePin(lineage)
        self.queue = queue
        loop = try EventLoop()
    }

    /// Runs until the queue is closed.
    func run() {
        let loop = loop
        let pool = RegistryPool(loop: loop, configuration: configuration, pin: pin, queue: queue) {
            loop.stop()
        }
        let listener = ChangeListener(
            loop: loop, configuration: configuration, pin: pin, hearing: queue.hearing,
            elsewhere: { [unowned pool] in pool.ask($0, completion: $1) },
            noticed: { [unowned pool] in pool.noticed($0) })
        pin.onNewer = { [unowned pool, unowned listener] host in
            pool.retire(to: host)
            listener.retire(to: host)
        }
        let scout = PrimaryScout(loop: loop, configuration: configuration, pin: pin)
        let receiver = queue.bell.attach(to: loop) { [unowned pool] _ in pool.work() }
        loop.run()
        receiver.close()
        pin.onNewer = { _ in }
        scout.close()
        listener.close()
        pool.close()
        queue.abandon(StoreError("registry: closed"))
    }
}
