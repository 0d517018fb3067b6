import Settings

/// Checks every server of the upstreams that ask for it. It belongs to the control thread's worker,
/// so that a process checks each server once, however many workers it has.
final class HealthChecker {
    private let host: any UpstreamHost
    private var probes: [HealthProbe] = []

    init(host: any UpstreamHost) {
        self.host = host
        update()
    }

    /// Takes the servers of the configuration as they are now: new ones are checked from now on,
    /// those that stay keep their verdict.
    func update() {
        var next: [HealthProbe] = []
        for group in host.serverGroups {
            guard let settings = group.settings.healthCheck else { continue }
            for server in group.servers {
                let known = probes.first { $0.server === server && $0.settings == settings }
                next.append(
                    known
                        ?? HealthProbe(
                            host: host, upstream: group.settings.name, settings: settings,
                            server: server))
            }
        }
        for probe in probes where !next.contains(where: { $0 === probe }) { probe.stop() }
        probes = next
    }
}
