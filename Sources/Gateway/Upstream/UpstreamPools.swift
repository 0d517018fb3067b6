import EventLoop
import Settings

/// One worker's pools: those of the configuration in force, and those that reloads left behind,
/// until the last exchange on them has ended.
final class UpstreamPools {
    private let host: any UpstreamHost
    /// Index as in the settings.
    private var current: [UpstreamPool] = []
    private var retired: [UpstreamPool] = []

    init(host: any UpstreamHost) {
        self.host = host
        current = host.site.settings.upstreams.map { makePool($0, host.site) }
    }

    /// The pool of `upstream` under `site`, which may be older than the worker's own.
    func pool(for site: Site, upstream index: Int) -> UpstreamPool {
        guard site.generation != host.site.generation else { return current[index] }
        let settings = site.settings.upstreams[index]
        if let pool = (current + retired).first(where: { $0.settings == settings }) { return pool }
        let pool = makePool(settings, site)
        pool.retire()
        retired.append(pool)
        return pool
    }

    /// Takes the worker's new site: pools of upstreams that did not change keep their connections,
    /// the others are left behind.
    func reload() {
        var old = current
        current = host.site.settings.upstreams.map { settings in
            let fresh = makePool(settings, host.site)
            guard let index = old.firstIndex(where: { $0.isInterchangeable(with: fresh) }) else {
                return fresh
            }
            let kept = old.remove(at: index)
            kept.take(fresh.group)
            return kept
        }
        for pool in old { pool.retire() }
        retired = (retired + old).filter { $0.connectionCount > 0 || $0.waitingCount > 0 }
    }

    /// Takes new addresses, because names have come to stand for others.
    func takeServers() {
        for pool in current { pool.take(host.servers(of: pool.settings)) }
    }

    func closeIdle() {
        for pool in current { pool.closeIdle() }
    }

    private func makePool(_ settings: UpstreamSettings, _ site: Site) -> UpstreamPool {
        UpstreamPool(
            host: host, settings: settings, group: host.servers(of: settings),
            tls: settings.tls.flatMap { site.tls.client($0.configuration) },
            responseHeadLimits: site.responseHeadLimits)
    }
}
