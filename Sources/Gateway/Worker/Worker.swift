import Attestation
import Bytes
import Crypto
import EventLoop
import HTTP
import KeyStore
import Policy
import Settings
import TLS

/// The state that one data-plane thread owns. It is not shared; other threads reach it through its
/// mailbox. Its parts hold references to it until ``end()``.
final class Worker {
    let index: Int
    let loop: EventLoop
    let mailbox: Mailbox<WorkerMessage>
    let deadlines: DeadlineWheel
    let outbox: Outbox
    /// The storage that connections read into and write from while they work.
    let storage = StoragePool.ofWorker()
    let meter: WorkerMeter
    let log: WorkerLog
    let hub: Hub
    var clock = WallClockText()
    private(set) var site: Site
    let idleListener: ListenerContext

    // Verification.
    var keyCache: KeyCache
    var verifiers: ProofVerifiers
    let registry: any Registry
    let lookUps: LookUpQueue
    let counters: any CounterStore
    private let updateCounters: (CounterSettings) -> Void
    /// The number of the last news of floors that the cache has taken up.
    private(set) var floorNewsNumber: UInt64 = 0
    let waiting: WaitingExchanges
    /// The time at which the registry has last answered a look-up.
    var registryAnsweredAt = MonotonicInstant(nanoseconds: 0)
    private(set) var changes = KeyChanges()
    private var receiver: MailboxReceiver<WorkerMessage>?
    var random = RandomPool()

    // Connections.
    var acceptors: [Acceptor] = []
    var connections = ConnectionTable()
    private var builtPools: UpstreamPools?
    private(set) var exchanges: ExchangeSupply
    private var ending = WorkerEnding()
    private var duties = OwnDuties()

    /// `clock`: for a worker that is stepped instead of run.
    init(
        index: Int, site: Site, hub: Hub, mailbox: Mailbox<WorkerMessage>,
        clock: ManualClock? = nil
    ) throws {
        self.index = index
        self.site = site
        self.hub = hub
        self.mailbox = mailbox
        loop = try EventLoop(clock: clock)
        deadlines = DeadlineWheel(loop: loop)
        outbox = Outbox(loop: loop)
        waiting = WaitingExchanges(deadlines: deadlines)
        meter = hub.meters[index]
        exchanges = try ExchangeSupply(hub, loop: loop, deadlines: deadlines)
        log = WorkerLog(
            writers: hub.logs, spans: hub.spans, refusals: hub.refusals[index], loop: loop)
        verifiers = try .init(queue: .init(hub.signatures, loop: loop, meter: meter, log: log))
        registry = hub.registry
        lookUps = LookUpQueue(registry, loop: loop, mailbox: mailbox)
        keyCache = KeyCache(
            recordCountMax: site.settings.keyCache.recordCountMax,
            apps: site.settings.apps)
        let opened = try hub.counters.open(loop)
        counters = opened.store
        updateCounters = opened.update
        idleListener = ListenerContext(ListenerSettings(bind: .unix(path: "")))
        lookUps.answered = { [unowned self] question, result in keyWasLookedUp(question, result) }
    }

    /// Runs until the worker has drained.
    func run() {
        attachMailbox()
        loop.run()
        log.flush()
        counters.close()
        end()
    }

    /// Releases everything that holds the worker, which is not needed any more.
    func end() {
        acceptors = []
        connections = ConnectionTable()
        duties = OwnDuties()
        waiting.removeAll()
        exchanges.clear()
        builtPools?.closeIdle()
        builtPools = nil
    }

    func attachMailbox() {
        counters.report(
            to: CounterStoreObserver(
                availabilityChanged: { [health = hub.health] isAvailable in
                    health.worker(reachesCounters: isAvailable)
                },
                lost: { [unowned self] in
                    hub.floors.settleAll(now: loop.now.milliseconds)
                    // Other gateways have accepted counters that only the registry knows.
                    keyCache.clear()
                },
                unconfirmed: { [meter] in meter.add(.unconfirmed, $0) },
                refused: { [unowned self] in log.repeatedEvent("counters_failed", $0) }))
        receiver = mailbox.attach(to: loop) { [unowned self] message in receive(message) }
    }

    /// Checks upstream servers from now on, for all workers.
    func startHealthChecks() { duties.healthChecker = HealthChecker(host: self) }

    /// The desk that carries out the requests of the admin API.
    var desk: AdministrationDesk {
        if let desk = duties.desk { return desk }
        let desk = AdministrationDesk(loop: loop)
        duties.desk = desk
        return desk
    }

    func receive(_ message: WorkerMessage) {
        switch message {
        case .keyLookedUp(let question, let result): keyWasLookedUp(question, result)
        case .enrolled(let number, let result):
            waiting.take(number, for: .enrol)?.endpoints.enrolmentEnded(result, number: number)
        case .advancedDurably(let number, let outcome):
            waiting.take(number, for: .advanceDurably)?
                .assertions.counterWasAdvancedDurably(outcome)
        case .userLookedUp(let number, let keyID, let result):
            userWasLookedUp(number, keyID, result)
        case .userNoted(let sighting, let result): userWasNoted(sighting, result)
        case .deviceReplied(let number, let reply):
            waiting.take(number, for: nil)?.adminDesk.deviceReplied(reply)
        case .bitsKept(let number, let result):
            waiting.take(number, for: .keepBits)?.adminDesk.bitsWereKept(result)
        case .keysChanged(let change):
            changes.note(change)
            hub.signals.forget(change)
            hub.unknownKeys.forget(change)
            switch change {
            case .keys(let keyIDs): keyCache.invalidate(keyIDs)
            case .everything, .replaced: keyCache.clear()
            }
        case .floorsRaised(let news): floorsWereRaised(news)
        case .listen(let listeners): open(listeners)
        case .reload(let update): apply(update)
        case .serversChanged: takeServers()
        case .drain: drain(within: site.settings.timeouts.drain)
        case .stop: loop.stop()
        case .retire:
            ending.isRetiring = true
            endTunnels(after: site.settings.timeouts.tunnelDrain)
        case .handOver(let kept): handOver(to: kept)
        case .beat(let number, let reports):
            _ = reports.post(.beat(worker: index, number: number))
        }
    }

    // MARK: stores

    /// The counter store's verdict, or nil if the exchange will be resumed with it.
    func advanceCounter(for exchange: Exchange, _ request: CounterAdvance) -> CounterVerdict? {
        if let verdict = counters.advanceAtOnce(request) {
            note(verdict, of: request.keyID, request.uniqueness)
            return verdict
        }
        let number = exchange.number
        var reply = CounterReply.awaited
        counters.advance(request) {
            [unowned self, keyID = request.keyID, uniqueness = request.uniqueness] answer in
            note(answer, of: keyID, uniqueness)
            if case .awaited = reply {
                reply = .came(answer)
            } else if let exchange = waiting.take(number, for: .advance) {
                exchange.assertions.counterWasAdvanced(answer)
            }
        }
        if case .came(let verdict) = reply { return verdict }
        reply = .late
        wait(exchange, for: .counter)
        return nil
    }

    private func note(_ verdict: CounterVerdict, of keyID: KeyID, _ uniqueness: Uniqueness) {
        guard verdict == .accepted, let counter = uniqueness.counter else { return }
        hub.floors.note(keyID, counter, now: monotonicMilliseconds)
    }

    /// The exchange waits for a reply that has its own time limit.
    func wait(_ exchange: Exchange, for reply: Awaited) {
        exchange.awaited = reply
        waiting.insert(exchange, withinNanoseconds: nil)
    }

    private func floorsWereRaised(_ news: FloorTable.News) {
        // A full mailbox has lost some.
        if news.number != floorNewsNumber + 1 { keyCache.clear() }
        floorNewsNumber = news.number
        keyCache.raiseFloors(news.floors)
    }

    // MARK: ids and times

    /// Milliseconds of the monotonic clock.
    var monotonicMilliseconds: Int64 { loop.now.milliseconds }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    var wallMilliseconds: Int64 { loop.wallMilliseconds }

    func nextExchangeNumber() -> UInt64 { exchanges.nextNumber() }

    // MARK: exchanges and connections

    func takeExchange() -> Exchange { exchanges.takeFree() ?? Exchange(worker: self) }

    func giveBack(_ exchange: Exchange) {
        exchange.reset()
        if exchange.site !== site { exchange.site = site }
        exchanges.giveBack(exchange)
    }

    func insert(_ connection: any ClientConnection) {
        connection.slot = connections.insert(connection)
        meter.connections(connections.count)
    }

    /// Every client connection of this worker.
    var clients: [any ClientConnection] { connections.all }

    var mayAccept: Bool { connections.count < site.settings.limits.connectionCountMax }

    /// A connection continues as another object, with another protocol.
    func replace(_ connection: any ClientConnection, with next: any ClientConnection) {
        next.slot = connection.slot
        next.quotaPlace = connection.quotaPlace
        next.proxy = connection.proxy
        connections.replace(at: connection.slot, with: next)
    }

    func remove(_ connection: any ClientConnection) {
        connections.remove(at: connection.slot)
        meter.connections(connections.count)
        if isDraining {
            stopIfDrained()
        } else {
            resumeAccepting()
        }
    }

    private var pools: UpstreamPools {
        if let builtPools { return builtPools }
        let pools = UpstreamPools(host: self)
        builtPools = pools
        return pools
    }

    /// The pool of `upstream` under `site`, which may be older than the worker's own.
    func pool(for site: Site, upstream index: Int) -> UpstreamPool {
        pools.pool(for: site, upstream: index)
    }

    /// Takes new addresses, because names have come to stand for others.
    private func takeServers() {
        pools.takeServers()
        duties.healthChecker?.update()
    }

    // MARK: reload and stop

    private func apply(_ update: WorkerUpdate) {
        guard !isDraining else { return }
        site = update.site
        // An idle exchange would keep the old site, and its keys.
        for exchange in exchanges.free { exchange.site = update.site }
        verifiers.siteWasReplaced()
        // Knowledge about keys outlives a reload that does not concern it.
        let apps = update.site.settings.apps
        if apps != keyCache.apps { keyCache.replaceApps(apps) }
        updateCounters(update.site.settings.counters)
        pools.reload()
        duties.healthChecker?.update()
        take(update.listeners)
        _ = update.reports.post(.updated(worker: index, generation: update.site.generation))
    }

    var isDraining: Bool { ending.isDraining }
    /// True if the time for a drain is over: remaining connections are cut off.
    var isCuttingOff: Bool { ending.isCuttingOff }
    var isHandingOver: Bool { ending.isHandingOver }

    /// True if connections end with their next answer.
    var endsConnections: Bool { isDraining || ending.isRetiring }

    private func handOver(to kept: KeptListeners) {
        guard !isDraining else { return }
        ending.isHandingOver = true
        for acceptor in acceptors { kept.add(acceptor.release()) }
        acceptors = []
        drain(within: site.settings.timeouts.upgrade)
    }

    private func drain(within limit: Duration) {
        guard !isDraining else { return }
        ending.isDraining = true
        for acceptor in acceptors { acceptor.close() }
        acceptors = []
        for connection in clients { connection.drain() }
        pools.closeIdle()
        let timer = Timer(loop: loop) { [unowned self] in
            ending.isCuttingOff = true
            for connection in clients { connection.lose() }
            loop.stop()
        }
        timer.schedule(after: limit)
        ending.drainDeadline = timer
        // The tunnels of a worker that hands over have had their time while it retired.
        endTunnels(after: isHandingOver ? .zero : site.settings.timeouts.tunnelDrain)
        stopIfDrained()
    }

    private func endTunnels(after delay: Duration) {
        let timer = Timer(loop: loop) { [unowned self] in
            for connection in clients { connection.endTunnel() }
        }
        timer.schedule(after: delay)
        ending.tunnelDeadline = timer
    }

    private func stopIfDrained() { if connections.count == 0 { loop.stop() } }
}

/// The parts that only one thread has.
private struct OwnDuties {
    /// Only on the control thread.
    var healthChecker: HealthChecker?
    /// Only on the admin thread.
    var desk: AdministrationDesk?
}

/// The progress of a worker towards its end.
private struct WorkerEnding {
    var isDraining = false
    /// True once the time for a drain is over.
    var isCuttingOff = false
    /// True if its listeners wait for the next program: no accepted connection is refused.
    var isHandingOver = false
    var isRetiring = false
    var drainDeadline: Timer?
    var tunnelDeadline: Timer?
}

/// The reply of a counter store that may answer at once.
private enum CounterReply {
    case awaited
    case came(CounterVerdict)
    /// The reply comes later; its exchange waits for it.
    case late
}
