import EventLoop
import Settings
import Telemetry

/// The figures of one server of an upstream, summed over the workers.
struct ServerFigures {
    let label: ServerLabel
    /// The state: `up`, `failing`, `ejected`, `down` or `unresolved`.
    let state: String
    /// True if health checks ask the server. If not, its state is what the last request saw.
    let isChecked: Bool
    var requestCount: UInt64 = 0
    var failureCount: UInt64 = 0
    var connectionCount: Int64 = 0

    init(_ state: ServerState, of upstream: UpstreamSettings, hub: Hub) {
        label = ServerLabel(upstream: upstream.name, server: state.text)
        isChecked = upstream.healthCheck != nil
        self.state =
            state.isDown
            ? "down" : state.isEjected ? "ejected" : state.isFailing ? "failing" : "up"
        for meter in hub.meters {
            guard let meter = meter.serverMeter(label) else { continue }
            requestCount &+= meter.requestCount
            failureCount &+= meter.failureCount
            connectionCount &+= meter.connectionCount
        }
    }

    /// The figures of a server without an address; its name is resolved again and again.
    private init(unresolved endpoint: Endpoint, upstream: String) {
        label = ServerLabel(upstream: upstream, server: "\(endpoint)")
        state = "unresolved"
        isChecked = true
    }

    /// The server's name in the history.
    var remembered: StatusHistory.Server {
        StatusHistory.Server(upstream: label.upstream, server: label.server)
    }

    /// Says that the state is as old as the last request. Nil if it is not, or if health checks ask
    /// the server.
    func unasked(_ history: StatusHistory, at now: Int64) -> String? {
        guard !isChecked else { return nil }
        guard let time = history.servers.askedAt(remembered) else { return "not asked yet" }
        guard now - time >= Self.unaskedSeconds else { return nil }
        return "not asked since \(WallClock.timestamp(seconds: time))"
    }

    /// A server that was not asked for so long may have another state by now.
    private static let unaskedSeconds: Int64 = 60

    /// The figures of all servers in the order of the configuration. Names without an address come
    /// last.
    static func all(_ hub: Hub) -> [ServerFigures] {
        hub.currentGroups.flatMap { group in
            group.servers.map { ServerFigures($0, of: group.settings, hub: hub) }
                + group.unresolved.map {
                    ServerFigures(unresolved: $0, upstream: group.settings.name)
                }
        }
    }
}

extension MetricsPage {
    static func writeServers(_ hub: Hub, _ page: inout MetricFamilies) {
        let servers = ServerFigures.all(hub)
        func family(
            _ name: String, _ kind: MetricKind, help: String,
            _ value: (ServerFigures) -> UInt64
        ) {
            page.family(name, kind, help: help)
            for server in servers {
                page.sample(
                    [("upstream", server.label.upstream), ("server", server.label.server)],
                    value(server))
            }
        }
        family(
            "sallyport_upstream_requests_total", .counter,
            help: "Requests sent to a server, retries included."
        ) { $0.requestCount }
        family(
            "sallyport_upstream_failures_total", .counter,
            help: "Requests that a server failed: no connection, no answer, a broken one."
        ) { $0.failureCount }
        family(
            "sallyport_upstream_connections", .gauge,
            help: "Connections to a server, busy and idle."
        ) { UInt64(max(0, $0.connectionCount)) }
        family(
            "sallyport_upstream_server_up", .gauge,
            help: "0 if a server fails its requests or health checks, or has no address."
        ) { $0.state == "up" ? 1 : 0 }
    }
}
