import Settings
import TLS

/// One worker's connections to one server.
final class PooledServer {
    let state: ServerState
    let meter: ServerMeter
    /// Nil where it is spoken to without TLS.
    let tls: TLSClientSessions?
    /// The newest last: it is used first, and the old ones age out.
    var idle: [UpstreamConnection] = []
    var connectionCount = 0 {
        didSet { meter.connections(connectionCount) }
    }
    /// The upstream has it no more: connections end with their requests.
    var isRetired = false

    init(_ state: ServerState, meter: ServerMeter, tls: TLSClientSessions?) {
        self.state = state
        self.meter = meter
        self.tls = tls
    }

    /// Requests in progress.
    var activeCount: Int { connectionCount - idle.count }

    /// Whether one more request has a connection, idle or new.
    var hasRoom: Bool {
        guard let limit = state.entry.connectionCountMax else { return true }
        return !idle.isEmpty || connectionCount < limit
    }

    func closeIdle() {
        for connection in idle { connection.close() }
    }
}
