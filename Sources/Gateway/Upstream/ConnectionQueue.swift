import EventLoop
import Settings

/// Exchanges that wait for a connection of one upstream, the oldest first, for a bounded time.
final class ConnectionQueue: DeadlineHandler {
    private struct Entry {
        let request: any PooledRequest
        /// An request that was lost and used again has another number.
        let number: UInt64
        let due: MonotonicInstant
    }

    private let settings: QueueSettings
    private let loop: EventLoop
    private var entries: [Entry] = []
    /// The index of the first entry. Entries before it are gone; the array is cut only now and
    /// then.
    private var first = 0
    private var deadline: Deadline?
    private let turnEnd: TurnEndHook
    private let serve: () -> Void

    /// `serve` is called at the end of a turn in which a connection came free.
    init(_ settings: QueueSettings, host: any UpstreamHost, serve: @escaping () -> Void) {
        self.settings = settings
        self.serve = serve
        loop = host.loop
        turnEnd = TurnEndHook(loop: host.loop)
        deadline = Deadline(wheel: host.deadlines, handler: self)
        turnEnd.setBody { [unowned self] in self.serve() }
    }

    var count: Int { entries.count - first }

    /// False if the queue is full.
    func add(_ request: any PooledRequest) -> Bool {
        guard count < settings.requestCountMax else { return false }
        let entry = Entry(
            request: request, number: request.number, due: loop.now + settings.timeout)
        entries.append(entry)
        if count == 1 { deadline?.set(at: entry.due) }
        return true
    }

    /// A connection came free: the request that waits longest gets it soon.
    func wake() {
        if count > 0 { turnEnd.schedule() }
    }

    /// The request that waits longest, taken out.
    func next() -> (any PooledRequest)? {
        while first < entries.count {
            let entry = entries[first]
            drop()
            if entry.request.number == entry.number { return entry.request }
        }
        return nil
    }

    /// The client of `request` has gone.
    func remove(_ request: any PooledRequest) {
        guard
            let index = entries.indices.dropFirst(first).first(where: {
                entries[$0].request === request
            })
        else { return }
        entries.remove(at: index)
        watchFirst()
    }

    private func drop() {
        first += 1
        if first == entries.count || first >= 256 {
            entries.removeFirst(first)
            first = 0
        }
        watchFirst()
    }

    private func watchFirst() {
        if count > 0 { deadline?.set(at: entries[first].due) } else { deadline?.clear() }
    }

    func deadlineExpired() {
        let now = loop.now
        while count > 0, now >= entries[first].due {
            guard let request = next() else { return }
            request.waitedTooLong()
        }
        watchFirst()
    }
}
