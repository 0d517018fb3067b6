import EventLoop
import KeyStore
import Policy
import Settings

/// What the threads of one gateway share: everything in it is safe to use from any of them.
final class Hub: Sendable {
    let registry: any Registry
    let counters: CounterAccess
    let floors: FloorTable
    /// One for each worker, then the control thread's own.
    let meters: [WorkerMeter]
    let logs: LogWriters
    let health = Health()
    let apple = AppleMeter()
    let devices = DeviceLine()
    let rateLimiter = RateLimiter()
    let connectionQuota = ConnectionQuota()
    let renewalMeter = RenewalMeter()
    let unknownKeys = UnknownKeys()
    let descriptors: DescriptorReserve
    let signals: SignalBook
    /// What this process calls itself in `Via`.
    let viaName = Via.makeName()
    private let upstreams: UpstreamRegister
    private let unresolved = Locked(RepeatedEvents())

    init(
        registry: any Registry, counters: CounterAccess,
        floors: FloorTable = FloorTable(), meters: [WorkerMeter],
        logs: LogWriters, signals: SignalBook = SignalBook(),
        descriptors: DescriptorReserve = DescriptorReserve(limit: HostSystem.descriptorLimit),
        resolver: @escaping NameResolver = Endpoint.allAddresses
    ) {
        self.signals = signals
        self.descriptors = descriptors
        self.registry = registry
        self.counters = counters
        self.floors = floors
        self.meters = meters
        self.logs = logs
        upstreams = UpstreamRegister(resolver: resolver)
    }

    /// What the servers of `settings` stand for. With `names` it asks the system's resolver, and
    /// blocks, perhaps for long: never to be called on a thread with a loop.
    func addresses(
        of settings: [UpstreamSettings], names: Bool = true
    ) throws(ConfigurationFailure) -> ResolvedServers {
        try upstreams.addresses(of: settings, names: names)
    }

    /// Takes the upstreams of a configuration; from now on they are the current ones.
    func take(_ settings: [UpstreamSettings], _ resolved: ResolvedServers) {
        upstreams.take(settings, resolved)
        for failure in resolved.failures { tellUnresolved(failure.upstream, failure.error) }
    }

    /// Resolves the names of one upstream again; blocks. True where its servers changed.
    func refresh(_ settings: UpstreamSettings) -> Bool {
        upstreams.refresh(settings, failed: tellUnresolved)
    }

    /// A name is asked for again and again: the same failure is told once a minute.
    private func tellUnresolved(_ upstream: String, _ error: IOError) {
        let text = unresolved.withLock {
            $0.text("upstreams.\(upstream): \(error)", at: MonotonicInstant.now())
        }
        if let text { logs.event(level: "warning", "resolve_failed", text) }
    }

    /// The servers of an upstream as they were last resolved.
    func servers(of settings: UpstreamSettings) -> ServerGroup { upstreams.group(of: settings) }

    /// Of the configuration that was resolved last.
    var currentGroups: [ServerGroup] { upstreams.current }

    /// Whether the worker of this index is the control thread's.
    func isControl(_ index: Int) -> Bool { index == meters.count - 1 }

    /// Whether any worker carries one.
    var hasTunnels: Bool { meters.contains { $0.tunnelCount > 0 } }

    /// The stores without which the routes of `site` cannot be served.
    func missingStores(for site: Site) -> [String] {
        let needsStores = site.settings.routes.contains {
            $0.attest.mode == .enforce && $0.attest.onStoreFailure == .deny
        }
        guard needsStores else { return [] }
        var missing: [String] = []
        if !health.isRegistryReady { missing.append("registry") }
        // Each worker has a connection of its own; the embedded store is there from the start.
        let isReached = !counters.isRemote || health.countersReachedCount >= meters.count
        if !isReached { missing.append("counters") }
        if site.lacksRollout { missing.append("rollout") }
        return missing
    }
}
