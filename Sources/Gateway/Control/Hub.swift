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
    private let resolved = Locked<[Endpoint: SocketAddress]>([:])

    init(
        registry: any Registry, embeddedCounters: EmbeddedCounters?, meters: [WorkerMeter],
        logs: LogWriters
    ) {
        self.registry = registry
        self.embeddedCounters = embeddedCounters
        self.meters = meters
        self.logs = logs
    }

    /// Resolves every server of `upstreams`; blocks, so only the control thread calls it.
    func resolve(_ upstreams: [UpstreamSettings]) throws(ConfigurationFailure) {
        for upstream in upstreams {
            for server in upstream.servers {
                let address: SocketAddress
                do throws(IOError) {
                    address = try server.socketAddress()
                } catch {
                    throw ConfigurationFailure("upstreams.\(upstream.name): \(error)")
                }
                take(address, for: server)
            }
        }
    }

    func take(_ address: SocketAddress, for server: Endpoint) {
        resolved.withLock { $0[server] = address }
    }

    /// The addresses of an upstream that ``resolve(_:)`` has seen.
    func addresses(of upstream: UpstreamSettings) -> [SocketAddress] {
        resolved.withLock { resolved in upstream.servers.compactMap { resolved[$0] } }
    }

    /// The stores without which the routes of `site` cannot be served.
    func missingStores(for site: Site) -> [String] {
        guard site.settings.routes.contains(where: { $0.attest.mode == .enforce }) else {
            return []
        }
        var missing: [String] = []
        if !health.isRegistryReady { missing.append("registry") }
        // Each worker has a connection of its own; the embedded store is there from the start.
        let isReached = embeddedCounters != nil || health.countersReachedCount >= meters.count
        if !isReached { missing.append("counters") }
        return missing
    }
}
