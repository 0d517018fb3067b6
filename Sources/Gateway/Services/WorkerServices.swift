import Attestation
import Bytes
import EventLoop
import KeyStore
import Settings

/// The loop, the stores and the upstreams of one data-plane thread, as its requests use them. Only
/// that thread touches them.
///
/// The services know a request only as a ``WaitingRequest``; the worker above them owns requests
/// and clients' connections. Waiting requests and pools hold the services until ``end()``.
final class WorkerServices {
    let index: Int
    let loop: EventLoop
    let mailbox: Mailbox<WorkerMessage>
    let deadlines: DeadlineWheel
    let outbox: Outbox
    /// The storage that connections read into and write from while they work.
    let storage = StoragePool.ofWorker()
    let bodies: BodySupply
    let meter: WorkerMeter
    let log: WorkerLog
    let hub: Hub
    private(set) var site: Site
    let idleListener = ListenerContext(ListenerSettings(bind: .unix(path: "")))
    /// The time for which bytes of the clients' connections have waited.
    var backlog = Backlog()
    var random = RandomPool()
    private var lastNumber: UInt64 = 0

    // Verification.
    var keyCache: KeyCache
    var verifiers: ProofVerifiers
    let registry: any Registry
    let lookUps: LookUpQueue
    let counters: any CounterStore
    private let updateCounters: (CounterSettings) -> Void
    /// The number of the last news of floors that the cache has taken up.
    private(set) var floorNewsNumber: UInt64 = 0
    let waiting: WaitingRequests
    /// The time at which the registry has last answered a look-up.
    var registryAnsweredAt = MonotonicInstant(nanoseconds: 0)
    var changes = KeyChanges()

    /// Used only on the admin thread.
    let desk: AdministrationDesk
    private var builtPools: UpstreamPools?
    /// True once the worker drains: no new requests come.
    var isDraining = false
    /// True once the time for a drain is over: remaining connections are cut off.
    var isCuttingOff = false

    init(
        index: Int, site: Site, hub: Hub, mailbox: Mailbox<WorkerMessage>, clock: ManualClock?
    ) throws {
        self.index = index
        self.site = site
        self.hub = hub
        self.mailbox = mailbox
        loop = try EventLoop(clock: clock)
        deadlines = DeadlineWheel(loop: loop)
        outbox = Outbox(loop: loop)
        meter = hub.meters[index]
        waiting = WaitingRequests(loop: loop, deadlines: deadlines, meter: meter)
        bodies = try BodySupply(hub, loop: loop, deadlines: deadlines)
        log = WorkerLog(
            writers: hub.logs, spans: hub.spans, refusals: hub.refusals[index], loop: loop)
        verifiers = try .init(queue: .init(hub.signatures, loop: loop, meter: meter, log: log))
        registry = hub.registry
        lookUps = LookUpQueue(registry, loop: loop, mailbox: mailbox)
        desk = AdministrationDesk(loop: loop)
        keyCache = KeyCache(
            recordCountMax: site.settings.keyCache.recordCountMax,
            apps: site.settings.apps)
        let opened = try hub.counters.open(loop)
        counters = opened.store
        updateCounters = opened.update
        lookUps.answered = { [unowned self] lookUp, result in keyWasLookedUp(lookUp, result) }
        lookUps.beginsWaiting = { [unowned self] in beginWaiting($0, for: $0.awaited) }
    }

    /// Has the counter store report to this worker's health, cache and log.
    func observeCounters() {
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
    }

    /// Releases everything that holds the services, which are not needed any more.
    func end() {
        waiting.removeAll()
        builtPools?.closeIdle()
        builtPools = nil
    }

    /// Puts another configuration in force.
    func replaceSite(_ next: Site) {
        site = next
        verifiers.siteWasReplaced()
        // Knowledge about keys outlives a reload that does not concern it.
        let apps = next.settings.apps
        if apps != keyCache.apps { keyCache.replaceApps(apps) }
        updateCounters(next.settings.counters)
        pools.reload()
    }

    // MARK: ids and times

    /// Milliseconds of the monotonic clock.
    var monotonicMilliseconds: Int64 { loop.now.milliseconds }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    var wallMilliseconds: Int64 { loop.wallMilliseconds }

    /// A number that no request of this worker has had.
    func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    // MARK: counters and keys

    /// The counter store's verdict, or nil if the request will be told it.
    func advanceCounter(
        for request: any WaitingRequest, _ advance: CounterAdvance
    ) -> CounterVerdict? {
        if let verdict = counters.advanceAtOnce(advance) {
            note(verdict, of: advance.keyID, advance.uniqueness)
            return verdict
        }
        let number = request.number
        var reply = CounterReply.awaited
        counters.advance(advance) {
            [unowned self, keyID = advance.keyID, uniqueness = advance.uniqueness] answer in
            note(answer, of: keyID, uniqueness)
            if case .awaited = reply {
                reply = .came(answer)
            } else {
                waiting.take(number, for: .advance)?.counterWasAdvanced(answer)
            }
        }
        if case .came(let verdict) = reply { return verdict }
        reply = .late
        waiting.wait(request, for: .counter)
        return nil
    }

    private func note(_ verdict: CounterVerdict, of keyID: KeyID, _ uniqueness: Uniqueness) {
        guard verdict == .accepted, let counter = uniqueness.counter else { return }
        hub.floors.note(keyID, counter, now: monotonicMilliseconds)
    }

    func keysWereChanged(_ change: RegistryChange) {
        changes.note(change)
        hub.signals.forget(change)
        hub.unknownKeys.forget(change)
        switch change {
        case .keys(let keyIDs): keyCache.invalidate(keyIDs)
        case .everything, .replaced: keyCache.clear()
        }
    }

    func floorsWereRaised(_ news: FloorTable.News) {
        // A full mailbox has lost some.
        if news.number != floorNewsNumber + 1 { keyCache.clear() }
        floorNewsNumber = news.number
        keyCache.raiseFloors(news.floors)
    }

    // MARK: upstreams

    var pools: UpstreamPools {
        if let builtPools { return builtPools }
        let pools = UpstreamPools(host: self)
        builtPools = pools
        return pools
    }

    /// The pool of `upstream` under `site`, which may be older than the one in force.
    func pool(for site: Site, upstream index: Int) -> UpstreamPool {
        pools.pool(for: site, upstream: index)
    }
}

/// The reply of a counter store that may answer at once.
private enum CounterReply {
    case awaited
    case came(CounterVerdict)
    /// The reply comes later; its request waits for it.
    case late
}
