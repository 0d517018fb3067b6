import Background
import EventLoop
import KeyStore
import Policy
import Settings

/// The state that the threads of one gateway share. All of it is safe to use from any of them.
final class Hub: Sendable {
    let registry: any Registry
    let counters: CounterAccess
    let floors: FloorTable
    /// The meters: one for each worker, then the admin thread's and the control thread's.
    let meters: [WorkerMeter]
    let logs: LogWriters
    /// The lists of refusals, one for each of ``meters``.
    let refusals: [RefusalRing]
    /// The course of the meters over the last day, for the status page.
    let history = Locked(StatusHistory(startedAt: MonotonicInstant.now()))
    let health = Health()
    let reloads = ReloadRecord()
    /// The named versions of metrics, and those of the history. Each reports the changes since its
    /// last call.
    let namedVersions = (metrics: NamedVersions(), history: NamedVersions())
    /// The keys of the registry at the last count; nil before the first.
    let keyTally = Locked<KeyTally?>(nil)
    /// The failures that apps report of their side.
    let clientFailures = ClientFailures()
    /// The version of this program.
    let version: String
    /// The results of exports by OTLP, and the spans that wait for one.
    let exports: ExportMeter
    let spans: SpanQueue
    let apple = AppleMeter()
    let devices = DeviceCheckMailbox()
    /// The documents that the control thread fetches, as workers read them.
    let fetched = (issuerKeys: IssuerKeyRegister(), androidRevocations: RevocationState())
    let rateLimiter = RateLimiter()
    let connectionQuota = ConnectionQuota()
    let renewalMeter = RenewalMeter()
    let unknownKeys = UnknownKeys()
    let bodyFileThreads = BodyFileThreads()
    let descriptors: DescriptorReserve
    /// Nil if the registry cannot be changed by hand.
    let administration: AdministrationAccess?
    let signals: SignalTallies
    let signatures: SignatureBatching
    /// The name of this process in `Via`.
    let viaName = Via.makeName()
    /// Keeps refused requests, once a configuration has asked for it.
    let captureWriter = Locked<CaptureWriter?>(nil)
    private let upstreams: UpstreamRegister

    init(
        registry: any Registry, counters: CounterAccess,
        floors: FloorTable = FloorTable(), meters: [WorkerMeter],
        logs: LogWriters, signals: SignalTallies = SignalTallies(),
        descriptors: DescriptorReserve = DescriptorReserve(limit: HostSystem.descriptorLimit),
        resolver: @escaping NameResolver = Endpoint.allAddresses, version: String = "",
        administration: AdministrationAccess? = nil, signatures: SignatureBatching = .off
    ) {
        self.administration = administration
        self.signatures = signatures
        self.version = version
        exports = ExportMeter()
        spans = SpanQueue(meter: exports)
        self.signals = signals
        self.descriptors = descriptors
        self.registry = registry
        self.counters = counters
        self.floors = floors
        self.meters = meters
        refusals = meters.map { _ in RefusalRing() }
        self.logs = logs
        upstreams = UpstreamRegister(resolver: resolver)
    }

    /// The addresses that the servers of `settings` stand for. With a `limit` it asks the system's
    /// resolver for names, and blocks for as long: never call it on a thread with a loop.
    func addresses(
        of settings: [UpstreamSettings], within limit: Duration? = nil
    ) throws(ConfigurationFailure) -> ResolvedServers {
        try upstreams.addresses(of: settings, within: limit)
    }

    /// Makes the upstreams of a configuration the current ones.
    func take(_ settings: [UpstreamSettings], _ resolved: ResolvedServers) {
        upstreams.take(settings, resolved)
        for failure in resolved.failures { tellUnresolved(failure.upstream, failure.error) }
    }

    /// Resolves the names of one upstream again; blocks. True if its servers changed.
    func refresh(_ settings: UpstreamSettings) -> Bool {
        upstreams.refresh(settings, failed: tellUnresolved)
    }

    /// Reports a name without an address. It is asked for again and again, so the same failure is
    /// reported once a minute.
    private func tellUnresolved(_ upstream: String, _ error: IOError) {
        let turn = upstreams.unresolved.withLock {
            $0.turn("resolve_failed", "upstreams.\(upstream): \(error)", at: MonotonicInstant.now())
        }
        logs.event(level: "warning", "resolve_failed", turn)
    }

    /// The servers of an upstream as they were last resolved.
    func servers(of settings: UpstreamSettings) -> ServerGroup { upstreams.group(of: settings) }

    /// The servers of the configuration that was resolved last.
    var currentGroups: [ServerGroup] { upstreams.current }

    /// The counts of a rollout's requests since the start of this gateway.
    func counts(of rollout: PlannedRollout) -> RolloutCounts {
        let name =
            switch rollout.subject {
            case .route(let name): name
            case .attestation: AppEndpoint.attestVerify.routeName
            }
        return meters.reduce(RolloutCounts()) { sum, meter in
            guard let route = meter.routeMeters[name] else { return sum }
            return sum + (rollout.subject == .attestation ? route.attestations : route.cohort)
        }
    }

    /// The number of threads with a ``Worker``: the workers, and those that serve no app.
    static func threadCount(forWorkers workerCount: Int) -> Int { workerCount + ownThreadCount }

    /// The number of threads that serve no app: the admin thread and the control thread.
    private static let ownThreadCount = 2

    /// The meters of the workers alone, because the other threads serve operators.
    var workerMeters: ArraySlice<WorkerMeter> { meters.dropLast(Self.ownThreadCount) }

    /// True if the worker of this index is the control thread's.
    func isControl(_ index: Int) -> Bool { index == meters.count - 1 }

    /// True if any worker has a tunnel.
    var hasTunnels: Bool { meters.contains { $0.tunnelCount > 0 } }

    var issuerKeys: IssuerKeyRegister { fetched.issuerKeys }
    var androidRevocations: RevocationState { fetched.androidRevocations }

    /// The silence about revocations in the registry. Nil if the gateway hears of them.
    var revocationSilence: RevocationSilence? {
        RevocationSilence(registry.hearing, at: MonotonicInstant.now())
    }

    /// Makes the probe that asks the registry, for readiness and the event log.
    func makeRegistryProbe() -> RegistryProbe {
        RegistryProbe(registry) { [health, logs] failure in
            health.registry(isReady: failure == nil)
            health.outages.note("registry", failure?.description, in: logs)
        }
    }

    /// Notes the reason why the control thread does not reach the counters; nil if it does.
    func noteCounters(_ failure: String?) {
        health.counters(areReady: failure == nil)
        health.outages.note("counters", failure, in: logs)
    }

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
