import Settings
import TLS

/// One worker's connections to one server.
final class PooledServer {
    let state: ServerState
    let meter: ServerMeter
    /// The TLS sessions with the server, or nil without TLS.
    let tls: TLSClientSessions?
    /// The idle connections, the newest last: it is used first, and the old ones age out.
    var idle: [UpstreamConnection] = []
    /// The HTTP/2 connections: those that may accept more requests, and those that end.
    var shared: [MultiplexedConnection] = []
    var connectionCount = 0 {
        didSet { meter.connections(connectionCount) }
    }
    /// True if the upstream does not have the server any more: connections end with their requests.
    var isRetired = false

    init(_ state: ServerState, meter: ServerMeter, tls: TLSClientSessions?) {
        self.state = state
        self.meter = meter
        self.tls = tls
    }

    /// The number of requests in progress.
    var activeCount: Int {
        shared.isEmpty
            ? connectionCount - idle.count : shared.reduce(0) { $0 + $1.leaseCount }
    }

    /// True if one more request over HTTP/1.1 has a connection, idle or new, as far as the server's
    /// own limit goes.
    var hasRoom: Bool { !idle.isEmpty || mayConnect }

    /// True if the server's own limit allows one more connection.
    var mayConnect: Bool { state.entry.connectionCountMax.map { connectionCount < $0 } ?? true }

    /// True if an existing connection accepts one more request beside others.
    var hasPlace: Bool { shared.contains { $0.hasRoom } }

    func closeIdle() {
        for connection in idle { connection.close() }
        for connection in shared { connection.end() }
    }
}
