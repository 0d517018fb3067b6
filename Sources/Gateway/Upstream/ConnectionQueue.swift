import EventLoop
import Settings

/// Exchanges that wait for a connection of one upstream, the oldest first, for a bounded time.
final class ConnectionQueue: DeadlineHandler {
    private struct Entry {
        let exchange: Exchange
        /// An exchange that was lost and used again has another number.
        let number: UInt64
        let due: MonotonicInstant
    }

    private let settings: QueueSettings
    private let loop: EventLoop
    private var entries: [Entry] = []
    /// Entries before it are gone: the array is cut now and then only.
    private var first = 0
    private var deadline: Deadline?
    private var turnEnd: TurnEndHook?
    private let serve: () -> Void

    /// `serve` is called at the end of a turn in which a connection came free.
    init(_ settings: QueueSettings, worker: Worker, serve: @escaping () -> Void) {
        self.settings = settings
        self.serve = serve
        loop = worker.loop
        deadline = Deadline(wheel: worker.deadlines, handler: self)
        turnEnd = TurnEndHook(loop: worker.loop) { [unowned self] in self.serve() }
    }

    var count: Int { entries.count - first }

    /// False if the queue is full.
    func add(_ exchange: Exchange) -> Bool {
        guard count < settings.requestCountMax else { return false }
        let entry = Entry(
            exchange: exchange, number: exchange.number, due: loop.now + settings.timeout)
        entries.append(entry)
        if count == 1 { deadline?.set(at: entry.due) }
        return true
    }

    /// A connection came free: whoever waits longest gets it soon.
    func wake() {
        if count > 0 { turnEnd?.schedule() }
    }

    /// The exchange that waits longest, taken out.
    func next() -> Exchange? {
        while first < entries.count {
            let entry = entries[first]
            drop()
            if entry.exchange.number == entry.number { return entry.exchange }
        }
        return nil
    }

    /// The client of `exchange` has gone.
    func remove(_ exchange: Exchange) {
        guard
            let index = entries.indices.dropFirst(first).first(where: {
                entries[$0].exchange === exchange
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
            guard let exchange = next() else { return }
            exchange.waitedTooLong()
        }
        watchFirst()
    }
}
