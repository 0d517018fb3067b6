import EventLoop
import HTTP2
import KeyStore
import Settings

/// The state that one data-plane thread owns: clients' connections, exchanges and the services that
/// these use. It is not shared; other threads reach it through its mailbox. Connections hold it
/// until ``end()``.
final class Worker {
    let services: WorkerServices
    var clock = WallClockText()
    let answerPipe: AnswerPipe
    private var receiver: MailboxReceiver<WorkerMessage>?
    var acceptors: [Acceptor] = []
    private var connections = ConnectionTable()
    private var exchanges = ExchangeSupply()
    let streams = StreamSupply()
    private var ending = WorkerEnding()
    /// Only on the control thread.
    private var healthChecker: HealthChecker?

    /// `clock`: for a worker that is stepped instead of run.
    init(
        index: Int, site: Site, hub: Hub, mailbox: Mailbox<WorkerMessage>,
        clock: ManualClock? = nil
    ) throws {
        services = try WorkerServices(
            index: index, site: site, hub: hub, mailbox: mailbox, clock: clock)
        answerPipe = AnswerPipe(descriptorMax: hub.descriptors.requestMax)
    }

    /// Runs until the worker has drained.
    func run() {
        attachMailbox()
        services.loop.run()
        services.log.flush()
        services.counters.close()
        end()
    }

    /// Releases everything that holds the worker or its services, which are not needed any more.
    func end() {
        acceptors = []
        connections = ConnectionTable()
        healthChecker = nil
        services.end()
    }

    func attachMailbox() {
        services.observeCounters()
        receiver = services.mailbox.attach(to: services.loop) { [unowned self] message in
            receive(message)
        }
    }

    /// Checks upstream servers from now on, for all workers.
    func startHealthChecks() { healthChecker = HealthChecker(host: services) }

    func receive(_ message: WorkerMessage) {
        let waiting = services.waiting
        switch message {
        case .keyLookedUp(let question, let result): services.keyWasLookedUp(question, result)
        case .enrolled(let number, let result):
            waiting.take(number, for: .enrol)?.enrolmentEnded(result)
        case .advancedDurably(let number, let outcome):
            waiting.take(number, for: .advanceDurably)?.counterWasAdvancedDurably(outcome)
        case .userLookedUp(let number, let keyID, let result):
            services.userWasLookedUp(number, keyID, result)
        case .userNoted(let sighting, let result): services.userWasNoted(sighting, result)
        case .deviceReplied(let number, let reply):
            waiting.take(number, for: nil)?.deviceReplied(reply)
        case .bitsKept(let number, let result):
            waiting.take(number, for: .keepBits)?.bitsWereKept(result)
        case .keyRetired(let retirement, let result):
            services.keyWasRetired(retirement, result)
        case .keysChanged(let change): services.keysWereChanged(change)
        case .floorsRaised(let news): services.floorsWereRaised(news)
        case .charge(let charge, let replies):
            services.counters.charge(charge) { _ = replies.post($0) }
        case .listen(let listeners): open(listeners)
        case .reload(let update): apply(update)
        case .serversChanged: takeServers()
        case .drain: drain(within: timeouts.drain)
        case .stop: services.loop.stop()
        case .retire:
            ending.isRetiring = true
            endTunnels(after: timeouts.tunnelDrain)
        case .handOver(let kept): handOver(to: kept)
        case .beat(let number, let reports):
            _ = reports.post(.beat(worker: services.index, number: number))
        }
    }

    // MARK: exchanges and connections

    func takeExchange() -> Exchange { exchanges.takeFree() ?? Exchange(services: services) }

    func giveBack(_ exchange: Exchange) {
        exchange.reset()
        if exchange.site !== services.site { exchange.site = services.site }
        exchanges.giveBack(exchange)
    }

    func insert(_ connection: any ClientConnection) {
        connection.slot = connections.insert(connection)
        services.meter.connections(connections.count)
    }

    /// Every client connection of this worker.
    var clients: [any ClientConnection] { connections.all }

    var mayAccept: Bool { connections.count < services.site.settings.limits.connectionCountMax }

    /// A connection continues as another object, with another protocol.
    func replace(_ connection: any ClientConnection, with next: any ClientConnection) {
        next.slot = connection.slot
        next.quotaPlace = connection.quotaPlace
        next.proxy = connection.proxy
        connections.replace(at: connection.slot, with: next)
    }

    func remove(_ connection: any ClientConnection) {
        connections.remove(at: connection.slot)
        services.meter.connections(connections.count)
        if isDraining {
            stopIfDrained()
        } else {
            resumeAccepting()
        }
    }

    /// Takes new addresses, because names have come to stand for others.
    private func takeServers() {
        services.pools.takeServers()
        healthChecker?.update()
    }

    // MARK: reload and stop

    private func apply(_ update: WorkerUpdate) {
        guard !isDraining else { return }
        services.replaceSite(update.site)
        // An idle exchange would keep the old site, and its keys.
        for exchange in exchanges.free { exchange.site = update.site }
        healthChecker?.update()
        take(update.listeners)
        let generation = update.site.generation
        _ = update.reports.post(.updated(worker: services.index, generation: generation))
    }

    private var timeouts: Timeouts { services.site.settings.timeouts }
    var isDraining: Bool { services.isDraining }
    var isHandingOver: Bool { ending.isHandingOver }

    /// True if connections end with their next answer.
    var endsConnections: Bool { isDraining || ending.isRetiring }

    private func handOver(to kept: KeptListeners) {
        guard !isDraining else { return }
        ending.isHandingOver = true
        for acceptor in acceptors { kept.add(acceptor.release()) }
        acceptors = []
        drain(within: timeouts.upgrade)
    }

    private func drain(within limit: Duration) {
        guard !isDraining else { return }
        services.isDraining = true
        for acceptor in acceptors { acceptor.close() }
        acceptors = []
        for connection in clients { connection.drain() }
        services.pools.closeIdle()
        let timer = Timer(loop: services.loop) { [unowned self] in
            services.isCuttingOff = true
            for connection in clients { connection.lose() }
            services.loop.stop()
        }
        timer.schedule(after: limit)
        ending.drainDeadline = timer
        // The tunnels of a worker that hands over have had their time while it retired.
        endTunnels(after: isHandingOver ? .zero : timeouts.tunnelDrain)
        stopIfDrained()
    }

    private func endTunnels(after delay: Duration) {
        let timer = Timer(loop: services.loop) { [unowned self] in
            for connection in clients { connection.endTunnel() }
        }
        timer.schedule(after: delay)
        ending.tunnelDeadline = timer
    }

    private func stopIfDrained() { if connections.count == 0 { services.loop.stop() } }
}

/// The progress of a worker towards its end.
private struct WorkerEnding {
    /// True if its listeners wait for the next program: no accepted connection is refused.
    var isHandingOver = false
    var isRetiring = false
    var drainDeadline: Timer?
    var tunnelDeadline: Timer?
}
