import AppAttest
import Bytes
public import EventLoop
public import KeyStore
public import Settings
import Telemetry

/// What a configuration file says, read anew.
public struct LoadedConfiguration: Sendable {
    public let settings: Settings
    /// 32 bytes each; the first seals.
    public let challengeKeys: [[UInt8]]

    public init(settings: Settings, challengeKeys: [[UInt8]]) {
        self.settings = settings
        self.challengeKeys = challengeKeys
    }
}

/// The running gateway: worker threads, and the control thread that starts, reloads and stops them.
public final class Gateway {
    private let hub: Hub
    private var site: Site
    private let workerCount: Int
    /// The longest that the embedded counters were made for.
    private let challengeLifeMax: Duration
    private var mailboxes: [Mailbox<WorkerMessage>] = []
    private var threads: [Thread] = []
    private var control: Worker?
    private let stopped: Mailbox<Int>
    private var stopReceiver: MailboxReceiver<Int>?
    private var runningCount = 0
    private var signals: [SignalWatch] = []
    private var probe: Timer?
    /// Every listener that is open, by its address.
    private var openBinds: Set<Endpoint> = []
    private let reload: () -> Result<LoadedConfiguration, ConfigurationFailure>

    /// `embeddedCounters` only where the settings say so. `reload` reads the configuration again.
    public init(
        _ configuration: LoadedConfiguration, registry: any Registry,
        embeddedCounters: EmbeddedCounters?,
        reload: @escaping () -> Result<LoadedConfiguration, ConfigurationFailure>
    ) throws {
        let settings = configuration.settings
        workerCount = settings.workerCount
        challengeLifeMax = settings.challenge.timeToLive
        self.reload = reload
        hub = Hub(
            registry: registry, embeddedCounters: embeddedCounters,
            meters: (0...workerCount).map { _ in WorkerMeter() },
            logs: try LogWriters(settings.log))
        site = try Site(
            settings: settings, challengeKeys: configuration.challengeKeys, generation: 0)
        stopped = try Mailbox(countMax: workerCount + 1)
        try hub.resolve(settings.upstreams)
    }

    /// Serves until it is told to stop (SIGTERM, SIGINT) and has drained. Blocks.
    ///
    /// Throws what keeps it from starting: an address in use, a thread that cannot be made.
    public func run() throws {
        SignalWatch.ignoreBrokenPipes()
        _ = HostSystem.raiseDescriptorLimit()
        for _ in 0...workerCount { mailboxes.append(try Mailbox(countMax: Self.mailboxCountMax)) }
        let bound = try bind(site.settings)
        let control = try Worker(
            index: workerCount, site: site, hub: hub, mailbox: mailboxes[workerCount])
        self.control = control
        try startWorkers(bound)
        watchSignals(control.loop)
        watchStores(control)
        stopReceiver = stopped.attach(to: control.loop) { [unowned self] _ in workerStopped() }
        announce(control)
        control.run(bound[workerCount])
        for thread in threads { thread.join() }
        hub.logs.close()
    }

    private func startWorkers(_ bound: [[BoundListener]]) throws {
        for index in 0..<workerCount {
            let (site, hub, mailbox, stopped) = (site, hub, mailboxes[index], stopped)
            let listeners = bound[index]
            let thread = try Thread.spawn(name: "worker-\(index)") {
                do {
                    let worker = try Worker(index: index, site: site, hub: hub, mailbox: mailbox)
                    worker.run(listeners)
                } catch {
                    hub.logs.event(level: "error", "worker_failed", "\(error)")
                }
                _ = stopped.post(index)
            }
            threads.append(thread)
            runningCount += 1
        }
    }

    private func announce(_ control: Worker) {
        if !site.settings.trust.extraRoots.isEmpty {
            control.log.event(
                level: "warning", "extra_roots",
                "trust.extra_roots is set: keys vouched for by these roots are accepted as if"
                    + " Apple had; for tests only")
        }
        let addresses = site.settings.listeners.map { "\($0.bind)" }.joined(separator: ", ")
        control.log.event(level: "info", "ready", "listening on " + addresses)
    }

    // MARK: listeners

    /// One socket for each worker and listener; the control thread's is the admin listener.
    /// Either all are opened or none.
    private func bind(_ settings: Settings) throws(IOError) -> [[BoundListener]] {
        var bound = [[BoundListener]](repeating: [], count: workerCount + 1)
        var fresh: [Int32] = []
        func open(_ context: ListenerContext, workers: Range<Int>) throws(IOError) {
            var descriptors = [Int32](repeating: -1, count: workers.count)
            if !openBinds.contains(context.bind) {
                descriptors = try Socket.listeners(
                    on: try context.bind.socketAddress(), count: workers.count,
                    backlog: Self.backlog)
                fresh += descriptors
            }
            for (index, descriptor) in zip(workers, descriptors) {
                bound[index].append(BoundListener(context: context, descriptor: descriptor))
            }
        }
        do throws(IOError) {
            for listener in settings.listeners {
                try open(
                    ListenerContext(listener, rateLimits: settings.rateLimits),
                    workers: 0..<workerCount)
            }
            if let admin = settings.admin {
                try open(
                    ListenerContext(ListenerSettings(bind: admin.bind), isAdmin: true),
                    workers: workerCount..<workerCount + 1)
            }
        } catch {
            for descriptor in fresh { Socket.close(descriptor) }
            throw error
        }
        openBinds = Set(settings.listeners.map(\.bind) + (settings.admin.map { [$0.bind] } ?? []))
        return bound
    }

    // MARK: signals

    private func watchSignals(_ loop: EventLoop) {
        for signal in [SignalWatch.terminate, SignalWatch.interrupt] {
            signals.append(SignalWatch(loop: loop, signal: signal) { [unowned self] in drain() })
        }
        signals.append(
            SignalWatch(loop: loop, signal: SignalWatch.hangUp) { [unowned self] in reloadAll() })
    }

    private func drain() {
        guard !hub.health.isDraining else { return }
        hub.health.drain()
        control?.log.event(level: "info", "draining", "no new connections are taken")
        for mailbox in mailboxes.dropLast() { _ = mailbox.post(.drain) }
    }

    private func workerStopped() {
        runningCount -= 1
        if runningCount == 0 {
            control?.log.event(level: "info", "stopped", "every worker has drained")
            control?.loop.stop()
        }
    }

    /// Takes the new configuration whole, or keeps the old one and says why.
    private func reloadAll() {
        guard let control else { return }
        do {
            let loaded = try reload().get()
            try refuseFixedChanges(loaded.settings)
            let next = try Site(
                settings: loaded.settings, challengeKeys: loaded.challengeKeys,
                generation: site.generation + 1)
            try hub.resolve(loaded.settings.upstreams)
            let bound = try bind(loaded.settings)
            site = next
            for (index, mailbox) in mailboxes.enumerated() {
                _ = mailbox.post(.reload(WorkerUpdate(site: next, listeners: bound[index])))
            }
            hub.logs.reopen()
            control.log.event(level: "info", "reloaded", "generation \(next.generation)")
        } catch {
            control.log.event(
                level: "error", "reload_failed", "the old configuration stays: \(error)")
        }
    }

    /// What a process cannot change under its feet.
    private func refuseFixedChanges(_ next: Settings) throws(ConfigurationFailure) {
        let current = site.settings
        let fixed = [
            ("workers", next.workerCount == current.workerCount),
            ("registry", next.registry == current.registry),
            ("counters", next.counters == current.counters),
            ("log", next.log == current.log),
            ("key_cache", next.keyCache == current.keyCache),
            (
                "limits.registry_queue",
                next.limits.registryQueueCountMax == current.limits.registryQueueCountMax
            ),
        ]
        for (key, isSame) in fixed where !isSame {
            throw ConfigurationFailure("\(key) cannot change without a restart")
        }
        // They may have forgotten challenges that a longer life would make valid again.
        if hub.embeddedCounters != nil, next.challenge.timeToLive > challengeLifeMax {
            throw ConfigurationFailure(
                "challenge.ttl cannot grow without a restart where counters are embedded")
        }
    }

    /// Asks the stores once a second whether they answer, for readiness and the event log, and has
    /// the embedded counters forget what has expired.
    private func watchStores(_ control: Worker) {
        hub.registry.onChange { [mailboxes] change in
            for mailbox in mailboxes { _ = mailbox.post(.keysChanged(change)) }
        }
        let timer = Timer(loop: control.loop) { [hub, unowned control] in
            let isAvailable = control.counters.isAvailable
            if hub.health.counters(areReady: isAvailable) {
                hub.logs.storeEvent("counters", isUp: isAvailable, control.counters.failureText)
            }
            hub.embeddedCounters?.sweep(
                nowMilliseconds: Int64(control.loop.now.nanoseconds / 1_000_000))
            hub.registry.probe { result in
                var failure: StoreError?
                if case .failure(let error) = result { failure = error }
                guard hub.health.registry(isReady: failure == nil) else { return }
                hub.logs.storeEvent(
                    "registry", isUp: failure == nil, failure?.description ?? "")
            }
        }
        timer.scheduleRepeating(every: Self.probeInterval)
        probe = timer
    }

    static let probeInterval = Duration.seconds(1)
    /// Replies of stores must never be dropped: far above what may wait (`registryQueueCountMax`).
    static let mailboxCountMax = 1 << 20
    static let backlog: Int32 = 4096
}

extension Endpoint {
    /// The system's form; names are resolved, which blocks.
    public func socketAddress() throws(IOError) -> SocketAddress {
        switch self {
        case .unix(let path):
            guard let address = SocketAddress.unix(path) else {
                throw IOError(path, .unresolved("not a path for a unix socket"))
            }
            return address
        case .tcp(let host, let port):
            guard let first = try SocketAddress.resolve(host: host, port: port).first else {
                throw IOError(host, .unresolved("no address"))
            }
            return first
        }
    }
}
