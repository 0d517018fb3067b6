import Attestation
import Background
import Bytes
import Crypto
public import EventLoop
public import KeyStore
import Settings
import Telemetry

/// The running gateway: worker threads, the admin thread that answers operators and probes, and the
/// control thread that starts, reloads and stops them.
public final class Gateway {
    let hub: Hub
    var site: Site
    private let workerCount: Int
    let mailboxes: [Mailbox<WorkerMessage>]
    private var threads: [Thread] = []
    private(set) var control: WorkerServices?
    let reports: Mailbox<WorkerReport>
    private var reportReceiver: MailboxReceiver<WorkerReport>?
    private var runningCount = 0
    /// The generation of the configuration that is in force, by worker.
    private var generations: [Int]
    private let supervisor: Supervisor
    private(set) var supervision: Supervision?
    /// Returns the reason why the next program cannot take over; blocks. Nil if there is no check.
    let checkUpgrade: (@Sendable () -> String?)?
    var upgrade = Upgrade()
    let kept = KeptListeners()
    private var signals: [SignalWatch] = []
    var timers = ControlTimers()
    var observation: Observation
    var nameRefresher: NameRefresher?
    /// Called when every name has been asked for once; nil from then on.
    var whenNamesAreAsked: (() -> Void)?
    private(set) var apple: AppleService?
    private(set) var receipts: ReceiptRenewal?
    private(set) var devices: DeviceCheckService?
    var lists = FetchedLists()
    let listeners: Listeners
    let ticketKeys = TicketKeyRings()
    let rolloutRegister = RolloutRegister()
    var controller: RolloutController?
    let configurationReader: ConfigurationReader
    var reload: Reload

    /// `listeners`: the listeners of `configuration`. `counters`: the store that its settings name.
    /// `floors`: the counters that were accepted before and may not be in the registry yet.
    /// `version` is for the log. `reload` reads the configuration again. `watching`: the files
    /// whose change causes a reload. `checkUpgrade` blocks, and returns the reason why the program
    /// that would replace this one cannot; nil if it can. `countKeys` blocks, and counts the keys
    /// of the registry; nil if it does not answer. `administration`: for the admin API.
    /// for the admin API.
    public init(
        _ configuration: LoadedConfiguration, listeners: Listeners, registry: any Registry,
        counters: CounterAccess, floors: FloorTable, version: String,
        supervisor: Supervisor,
        reload configurationReader: ConfigurationReader,
        watching watchedFiles: ConfigurationFiles? = nil,
        checkUpgrade: (@Sendable () -> String?)? = nil,
        countKeys: (@Sendable () -> [KeyCount]?)? = nil,
        administration: AdministrationAccess? = nil
    ) throws {
        self.reload = Reload(watchedFiles: watchedFiles)
        observation = Observation(countKeys: countKeys)
        self.supervisor = supervisor
        self.checkUpgrade = checkUpgrade
        let settings = configuration.settings
        let logs = try LogWriters(settings.log)
        workerCount = settings.workerCount
        self.listeners = listeners
        self.configurationReader = configurationReader
        generations = Array(repeating: 0, count: Hub.threadCount(forWorkers: workerCount))
        hub = Hub(
            registry: registry, counters: counters, floors: floors,
            meters: generations.map { _ in WorkerMeter() },
            logs: logs,
            signals: SignalTallies(subjectCountMax: settings.signals.subjectCountMax),
            version: version, administration: administration,
            signatures: SignatureBatching(settings.crypto) { path in
                logs.event(
                    level: "info", "signature_library_loading",
                    SignatureBatching.loadingWords(path))
                logs.events?.awaitWritten()
            })
        site = try Site(
            settings: settings, challengeKeys: configuration.challengeKeys.map(\.bytes),
            pseudonymKeys: configuration.pseudonymKeys.map(\.bytes), generation: 0,
            ticketKeys: ticketKeys, rollouts: rolloutRegister, issuerKeys: hub.issuerKeys,
            platforms: PlatformEntry.all(hub.androidRevocations))
        reports = try Mailbox(countMax: Self.reportCountMax)
        mailboxes = try generations.map { _ in try Mailbox(countMax: Self.mailboxCountMax) }
        // Before any worker has a key in its cache, so that no change goes unheard.
        registry.onChange { [mailboxes, logs = hub.logs] change in
            if change == .replaced {
                logs.event(
                    level: "error", "registry_replaced",
                    "the registry's file or its log was replaced, removed or written over; the "
                        + "present one is used; changes may be lost or mixed: run doctor")
            }
            for mailbox in mailboxes { _ = mailbox.post(.keysChanged(change)) }
        }
        hub.floors.onNews { [mailboxes] news in
            for mailbox in mailboxes { _ = mailbox.post(.floorsRaised(news)) }
        }
        // Names are resolved once the gateway runs.
        hub.take(
            settings.upstreams, try hub.addresses(of: settings.upstreams))
    }

    /// Serves until it is told to stop (SIGTERM, SIGINT) and has drained. Blocks. Returns the open
    /// listeners if another program is to take over (SIGUSR2): signals are held then, for the next
    /// gateway to release, and the stores are closed.
    ///
    /// `tell` hears of log lines that no file has taken at the end, on standard error for one.
    ///
    /// Throws the reason why it cannot start: a thread or a loop that cannot be made. No request
    /// was served then.
    public func run(
        _ stores: StoreLife? = nil, tell: (String) -> Void = { _ in }
    ) throws -> InheritedListeners? {
        defer {
            closeCapture()
            hub.bodyFileThreads.end()
            stores?.close(announce)
            hub.logs.close(tell: tell)
        }
        SignalWatch.ignoreBrokenPipes()
        SignalWatch.keepEndings()
        try prepareCapture(site.settings)
        let index = mailboxes.count - 1
        let worker = try Worker(index: index, site: site, hub: hub, mailbox: mailboxes[index])
        let control = worker.services
        self.control = control
        let apple = AppleService(loop: control.loop, meter: hub.apple, log: hub.logs)
        apple.use(try apple.change(to: site.settings.apple))
        self.apple = apple
        let devices = try DeviceCheckService(loop: control.loop, apple: apple, mailbox: hub.devices)
        devices.use(site.settings.deviceCheck)
        self.devices = devices
        try startKeySets(on: control.loop)
        try startRevocations(on: control.loop)
        try startWorkers()
        reportReceiver = reports.attach(to: control.loop) { [unowned self] in receive($0) }
        try startNameRefresher(for: site.settings)
        awaitNames(on: control.loop)
        startRollouts(on: control.loop)
        for (mailbox, listeners) in zip(mailboxes, listeners.takeInitial()) {
            _ = mailbox.post(.listen(listeners))
        }
        watchSignals(control.loop)
        try watchStores(control)
        for news in stores?.opening ?? [] { announce(news) }
        forgetOld(control)
        watchCertificates(on: control.loop)
        keepHistory(on: control.loop)
        try startObservation(on: control.loop)
        receipts = try ReceiptRenewal(
            loop: control.loop, registry: hub.registry, meter: hub.renewalMeter, log: hub.logs,
            site.renewal, exchange: AppleReceipts(apple, site.settings.apple))
        worker.startHealthChecks()
        announce(control)
        let supervision = Supervision(
            supervisor, hub: hub, workers: workerMailboxes, reports: reports)
        self.supervision = supervision
        supervision.watch(on: control.loop)
        supervision.workersChange(status: servingText)
        try watchFiles()
        worker.run()
        // The stop is completed, whatever signal comes now.
        SignalWatch.hold()
        reload.watcher?.stop()
        receipts = nil
        observation.end()
        timers.floorKeeper?.end()
        apple.close()
        lists.close()
        for thread in threads { thread.join() }
        nameRefresher?.stop()
        guard upgrade.step == .handingOver else {
            listeners.removeFiles()
            return nil
        }
        let next = try kept.take()
        listeners.handOverFiles(to: next)
        return next
    }

    /// The workers' mailboxes, without the admin thread's and the control thread's.
    var workerMailboxes: [Mailbox<WorkerMessage>] { Array(mailboxes.prefix(workerCount)) }
    var adminMailbox: Mailbox<WorkerMessage> { mailboxes[workerCount] }
    var isDraining: Bool { hub.health.isDraining }
    var currentSite: Site { site }
    var logs: LogWriters { hub.logs }

    var servingText: String {
        "serving with \(String(counting: workerCount, "worker")), generation \(site.generation)"
    }

    private func receive(_ report: WorkerReport) {
        switch report {
        case .stopped(workerCount): control?.loop.stop()
        case .stopped: workerStopped()
        case .beat(let worker, let number):
            supervision?.workerAnswered(worker, number, site: site)
        case .updated(let worker, let generation):
            generations[worker] = generation
            listeners.closed(upTo: generations.min() ?? 0)
        case .upgradeChecked(let problem): upgradeChecked(problem: problem)
        case .rollout(let answer): controller?.take(answer)
        case .namesAsked: namesWereAsked()
        case .filesChanged(let paths): filesChanged(paths)
        }
    }

    /// Starts every worker and the admin thread. If one fails, none runs, and the first failure is
    /// thrown.
    private func startWorkers() throws {
        do {
            for index in 0...workerCount {
                let (site, hub, mailbox, reports) = (site, hub, mailboxes[index], reports)
                let thread = try Thread.spawn(
                    name: index < workerCount ? "worker-\(index)" : "admin",
                    preparing: {
                        try Worker(index: index, site: site, hub: hub, mailbox: mailbox)
                    }
                ) { worker in
                    worker.run()
                    _ = reports.post(.stopped(worker: index))
                }
                threads.append(thread)
            }
        } catch {
            for mailbox in mailboxes { _ = mailbox.post(.drain) }
            for thread in threads { thread.join() }
            throw StartFailure(
                threads.count < workerCount
                    ? "worker \(threads.count + 1) of \(workerCount): \(error)"
                    : "the admin thread: \(error)")
        }
        runningCount = workerCount
    }

    private func announce(_ control: WorkerServices) {
        let listenerCount = site.settings.listeners.count
        control.log.event(
            level: "info", "started",
            "sallyport \(hub.version): \(String(counting: workerCount, "worker")), "
                + String(counting: listenerCount, "listener")
                + (site.settings.admin == nil ? "" : ", admin listener"))
        announceSignatures()
        announceExceptions()
        examineCounters()
        examineDescriptors()
        examineCertificates()
        let addresses = site.settings.listeners.map { "\($0.bind)" }.joined(separator: ", ")
        control.log.event(level: "info", "ready", "listening on " + addresses)
    }

    /// A library that was named and cannot be used is logged; a library that was not named and is
    /// not installed is not.
    private func announceSignatures() {
        let words = "signatures are verified \(hub.signatures.words)"
        if hub.signatures.unusable != nil {
            hub.logs.event(level: "warning", "signature_library_unusable", words)
        } else {
            hub.logs.event(level: "info", "signatures", words)
        }
    }

    // MARK: signals

    private func watchSignals(_ loop: EventLoop) {
        for signal in [SignalWatch.terminate, SignalWatch.interrupt] {
            signals.append(SignalWatch(loop: loop, signal: signal) { [unowned self] in stop() })
        }
        signals.append(
            SignalWatch(loop: loop, signal: SignalWatch.hangUp) { [unowned self] in
                // By the present paths, whatever the configuration says now: the files may have
                // been moved away.
                hub.logs.reopen(tellsSuccess: false)
                beginReload()
            })
        signals.append(
            SignalWatch(loop: loop, signal: SignalWatch.user1) { [hub] in
                hub.logs.reopen(tellsSuccess: true)
            })
        signals.append(
            SignalWatch(loop: loop, signal: SignalWatch.user2) { [unowned self] in beginUpgrade() })
        // Signals were held if this program has replaced another.
        SignalWatch.release()
    }

    /// Stops renewing receipts, because another gateway, or the next program, goes on at once.
    func stopRenewing() { receipts?.stop() }

    private func workerStopped() {
        runningCount -= 1
        if runningCount == 0 {
            if upgrade.step == .handingOver { return handOverControl() }
            control?.log.event(level: "info", "stopped", "every worker has drained")
            finishExports { [adminMailbox] in _ = adminMailbox.post(.stop) }
        }
    }

    /// Asks the stores once a second whether they answer, for readiness and the event log, and has
    /// the counters forget what has expired.
    private func watchStores(_ control: WorkerServices) throws {
        let registryProbe = hub.makeRegistryProbe()
        let floorKeeper = try FloorKeeper(
            floors: hub.floors, registry: hub.registry, log: hub.logs)
        timers.floorKeeper = floorKeeper
        floorKeeper.announce()
        let revocationWatch = RevocationWatch(hub.registry.hearing, log: hub.logs)
        let logWatch = RegistryLogWatch(hub.registry.writeAheadLog, log: hub.logs)
        let quotaWatch = QuotaWatch(hub.counters.quotas, log: hub.logs)
        let timer = Timer(loop: control.loop) { [hub, ticketKeys, unowned control, unowned self] in
            ticketKeys.rotate(now: control.loop.now)
            hub.logs.tellLeftOut(at: control.loop.now)
            let counters = control.counters
            hub.noteCounters(counters.isAvailable ? nil : counters.failureText)
            counters.sweep()
            floorKeeper.tend(now: control.monotonicMilliseconds)
            revocationWatch.look(at: control.loop.now)
            logWatch.look(at: control.loop.now)
            quotaWatch.look(at: control.loop.now)
            registryProbe.ask(
                at: control.loop.now, patience: control.site.settings.timeouts.registry)
            supervision?.reportReadiness(site: site)
        }
        timer.scheduleRepeating(every: Self.probeInterval)
        timers.repeating.append(timer)
    }

    /// Has the registry forget the users whose retention is over (`signals.user.retention`), and
    /// spent challenges.
    private func forgetOld(_ control: WorkerServices) {
        let timer = Timer(loop: control.loop) { [hub, unowned control, unowned self] in
            let life = site.signals?.retentionMilliseconds ?? 0
            hub.registry.forget(
                RegistryExpiry(usersBefore: life > 0 ? control.wallMilliseconds - life : nil))
        }
        timer.scheduleRepeating(every: Self.sweepInterval)
        timers.repeating.append(timer)
    }

    private static let sweepInterval = Duration.seconds(600)
    /// The most reports that wait: the end of each worker, and answers that come faster than they
    /// are read.
    private static let reportCountMax = 1 << 16
    static let probeInterval = Duration.seconds(1)
    /// Replies of stores must never be dropped, so this is far above the number that may wait
    /// (`registryQueueCountMax`).
    static let mailboxCountMax = 1 << 20
}

/// The timers of the control thread.
struct ControlTimers {
    /// The timers that repeat for as long as the gateway runs.
    var repeating: [Timer] = []
    /// Runs with the timer of the stores.
    var floorKeeper: FloorKeeper?
    /// Runs until a drain begins.
    var drainDelay: Timer?
}

/// The reason why a gateway does not run.
public struct StartFailure: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
