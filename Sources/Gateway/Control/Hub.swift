import EventLoop
import KeyStore
import Policy
import Settings

/// What the threads of one gateway share: everything in it is safe to use from any of them.
final class Hub: Sendable {
    let registry: any Registry
    let embeddedCounters: EmbeddedCounters?
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
    let signals: SignalBook
    /// What this process calls itself in `Via`.
    let viaName = Via.makeName()
    private let upstreams: UpstreamRegister

    init(
        registry: any Registry, embeddedCounters: EmbeddedCounters?, meters: [WorkerMeter],
        logs: LogWriters, signals: SignalBook = SignalBook(),
        resolver: @escaping NameResolver = Endpoint.allAddresses
    ) {
        self.signals = signals
        self.registry = registry
        self.embeddedCounters = embeddedCounters
        self.meters = meters
        self.logs = logs
        upstreams = UpstreamRegister(resolver: resolver)
    }

    /// Resolves every server of `settings`; blocks, so only the control thread calls it.
    func resolve(_ settings: [UpstreamSettings]) throws(ConfigurationFailure) {
        try upstreams.resolve(settings)
    }

    /// Resolves the names of one upstream again; blocks. True where its servers changed.
    func refresh(_ settings: UpstreamSettings) -> Bool {
        upstreams.refresh(settings) { name, error in
            logs.event(level: "warning", "resolve_failed", "upstreams.\(name): \(error)")
        }
    }

    /// The servers of an upstream as they were last resolved.
    func servers(of settings: UpstreamSettings) -> ServerGroup { upstreams.group(of: settings) }

    /// Of the configuration that was resolved last.
    var currentGroups: [ServerGroup] { upstreams.current }

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
        let isReached = embeddedCounters != nil || health.countersReachedCount >= meters.count
        if !isReached { missing.append("counters") }
        if site.lacksRollout { missing.append("rollout") }
        return missing
    }
}
