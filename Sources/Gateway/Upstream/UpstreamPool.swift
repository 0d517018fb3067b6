import Bytes
import EventLoop
import HTTP
import HTTP2
import Judgement
import Settings
import TLS
import Telemetry

/// One worker's connections to one upstream. It chooses the server of each request, keeps idle
/// connections for reuse, and bounds the number of all.
final class UpstreamPool {
    /// The result of asking for a connection.
    enum Lease {
        case connection(any RequestSink)
        /// The request is called again when a connection comes free.
        case queued
        /// There is neither a connection nor a place in the queue.
        case refused(Cause.Check)
    }

    private let host: any UpstreamHost
    // The host's own, without a look-up.
    let loop: EventLoop
    let deadlines: DeadlineWheel
    let storage: StoragePool
    let outbox: Outbox
    private let log: WorkerLog
    private let meter: WorkerMeter
    let settings: UpstreamSettings
    /// Nil if the settings do not ask for TLS.
    private let tls: TLSClientContext?
    let responseHeadLimits: HeadLimits
    let timeouts: UpstreamTimeouts
    private(set) var group: ServerGroup
    private var servers: [PooledServer] = []
    private var balancer: Balancer
    private var loads: [ServerLoad] = []
    var budget: RetryBudget
    private(set) var connectionCount = 0
    private var idleCount = 0
    private var waiting: ConnectionQueue?
    /// The number of requests under way by the address of their client.
    var requests = AddressTally()
    let clientWaits: ClientWaits
    /// The times from the lease of a connection to the head of the answer.
    private let durations: Histogram
    private lazy var queueCheck = DelayedCall(wheel: deadlines) { [unowned self] in
        checkLine()
    }
    private var isMakingRoom = false
    /// True if the configuration does not have this upstream any more.
    private var isRetired = false

    init(
        host: any UpstreamHost, settings: UpstreamSettings, group: ServerGroup,
        tls: TLSClientContext?, responseHeadLimits: HeadLimits
    ) {
        self.host = host
        loop = host.loop
        deadlines = host.deadlines
        storage = host.storage
        outbox = host.outbox
        log = host.log
        meter = host.meter
        self.settings = settings
        self.tls = tls
        self.responseHeadLimits = responseHeadLimits
        self.group = group
        clientWaits = ClientWaits(loop: loop)
        durations = meter.upstream(settings.name)
        timeouts = UpstreamTimeouts(settings)
        balancer = Balancer(settings.balance)
        budget = RetryBudget(percent: settings.retries.budgetPercent)
        take(group)
    }

    /// True if connections of one can serve requests of the other.
    func isInterchangeable(with other: UpstreamPool) -> Bool {
        settings == other.settings && responseHeadLimits == other.responseHeadLimits
    }

    /// Uses the servers of `group` from now on. Connections to removed servers end with their
    /// requests.
    func take(_ group: ServerGroup) {
        self.group = group
        let old = servers
        servers = group.servers.map { state in
            old.first { $0.state === state }
                ?? PooledServer(
                    state,
                    meter: meter.server(
                        ServerLabel(upstream: settings.name, server: state.text)),
                    tls: tlsSessions(with: state))
        }
        loads = group.servers.map { state in
            ServerLoad(
                weight: state.entry.weight, isBackup: state.entry.isBackup,
                identity: state.identity)
        }
        for server in old where !servers.contains(where: { $0 === server }) {
            server.isRetired = true
            let label = ServerLabel(upstream: settings.name, server: server.state.text)
            meter.forget(label)
            server.closeIdle()
        }
        waiting?.wake()
    }

    private func tlsSessions(with state: ServerState) -> TLSClientSessions? {
        guard let tls, let peer = settings.tls?.peer(at: state.entry.endpoint) else { return nil }
        return TLSClientSessions(tls, serverName: peer.name, isAddress: peer.isAddress)
    }

    var descriptorMax: Int32 { host.upstreamDescriptorMax }

    // MARK: leasing

    /// A connection for `request`: an idle one of the server whose turn it is, or a new one.
    func lease(for request: any PooledRequest) -> Lease {
        if servers.isEmpty { return .refused(.unresolved) }
        // Who waits was here before.
        if request.attemptCount == 0, !request.isCalled,
            let waiting, waiting.count > 0
        {
            return wait(request)
        }
        guard let server = choose(for: request) else { return wait(request) }
        if settings.protocol == .http2 { return leaseStream(of: server, for: request) }
        if let connection = takeIdle(of: server, for: request) { return .connection(connection) }
        if let limit = server.state.entry.connectionCountMax, server.connectionCount >= limit {
            server.idle.first?.close()
        }
        if connectionCount >= settings.connectionCountMax {
            guard let oldest = servers.lazy.compactMap(\.idle.first).first
            else { return wait(request) }
            oldest.close()
        }
        return .connection(connect(to: server))
    }

    /// The newest idle connection, unless it may be dead and that would cost more than a new one. A
    /// retry gets a fresh connection, because the next idle one may be as dead as the last. So does
    /// a request that cannot be repeated, if the newest has been idle for long.
    private func takeIdle(
        of server: PooledServer, for request: any PooledRequest
    ) -> UpstreamConnection? {
        guard request.attemptCount == 0, let newest = server.idle.last,
            newest.isSurelyKept(now: loop.now)
                || (request.mayRepeat && request.willBeWhole)
        else { return nil }
        server.idle.removeLast()
        newest.isIdle = false
        idleCount -= 1
        return newest
    }

    /// A stream of a connection that is there, the newest first, or of one more.
    private func leaseStream(of server: PooledServer, for request: any PooledRequest) -> Lease {
        if let connection = server.shared.last(where: { $0.hasRoom }) {
            return .connection(connection.lease())
        }
        if connectionCount >= settings.connectionCountMax {
            guard let idle = servers.lazy.compactMap({ $0.shared.first { $0.isIdle } }).first
            else { return wait(request) }
            idle.close()
        }
        return .connection(share(server).lease())
    }

    private func share(_ server: PooledServer, isForCheck: Bool = false) -> MultiplexedConnection {
        connectionCount += 1
        server.connectionCount += 1
        let connection = MultiplexedConnection(
            pool: self, server: server, isForCheck: isForCheck)
        if !isForCheck { server.shared.append(connection) }
        return connection
    }

    private func connect(to server: PooledServer) -> UpstreamConnection {
        connectionCount += 1
        server.connectionCount += 1
        return UpstreamConnection(pool: self, server: server)
    }

    private func wait(_ request: any PooledRequest) -> Lease {
        if request.isCalled || waitingCount == 0, !isMakingRoom,
            clientWaits.letGo()
        {
            isMakingRoom = true
            defer { isMakingRoom = false }
            return lease(for: request)
        }
        guard settings.queue.requestCountMax > 0 else {
            return .refused(.connectionsMax)
        }
        let waiting =
            self.waiting
            ?? ConnectionQueue(settings.queue, host: host) { [unowned self] in callWaiting() }
        self.waiting = waiting
        guard waiting.add(request) else { return .refused(.queueFull) }
        if waiting.count == 1 { queueCheck.set(afterNanoseconds: Self.queueCheckNanoseconds) }
        return .queued
    }

    /// A request in the queue may by now have waited for a client that is silent for too long.
    private func checkLine() {
        callWaiting()
        if waitingCount > 0 { queueCheck.set(afterNanoseconds: Self.queueCheckNanoseconds) }
    }

    private static let queueCheckNanoseconds = ClientWaits.patience.wholeNanoseconds

    private func callWaiting() {
        guard let waiting else { return }
        for _ in 0..<waiting.count {
            guard hasRoom || clientWaits.letGo(), let request = waiting.next() else { return }
            request.wasCalled()
        }
    }

    private var hasRoom: Bool {
        let mayConnect = mayConnect
        return (idleCount > 0 || mayConnect || settings.protocol == .http2)
            && servers.contains { hasRoom($0, mayConnect: mayConnect) }
    }

    /// True if one more request to the server has a connection. Streams share existing connections:
    /// while there may be no more of them, only servers that have one have room.
    private func hasRoom(_ server: PooledServer, mayConnect: Bool) -> Bool {
        guard settings.protocol == .http2 else { return server.hasRoom }
        return server.hasPlace || mayConnect && server.mayConnect
    }

    /// True if there may be one more connection, if need be in place of a shared one without
    /// requests.
    private var mayConnect: Bool {
        connectionCount < settings.connectionCountMax
            || servers.contains { $0.shared.contains { $0.isIdle } }
    }

    /// The client has gone while its request waited.
    func forget(_ request: any PooledRequest) { waiting?.remove(request) }

    /// The number of requests that can be under way at once.
    var placeCount: Int {
        guard settings.protocol == .http2 else { return settings.connectionCountMax }
        return settings.connectionCountMax * settings.http2.concurrentStreamCountMax
    }

    /// The number of requests that wait for a connection.
    var waitingCount: Int { waiting?.count ?? 0 }

    private func choose(for request: any PooledRequest) -> PooledServer? {
        let mayConnect = mayConnect
        // A request that has to wait is no trial of an ejected server.
        guard idleCount > 0 || mayConnect || settings.protocol == .http2 else { return nil }
        if servers.count == 1 {
            let server = servers[0]
            return hasRoom(server, mayConnect: mayConnect) ? server : nil
        }
        let now = loop.now.nanoseconds
        for (index, server) in servers.enumerated() {
            loads[index].activeCount = server.activeCount
            loads[index].isUsable =
                hasRoom(server, mayConnect: mayConnect) && server.state.isUsable(now: now)
            if timeouts.slowStart > 0 {
                loads[index].weight = server.state.weight(
                    now: now, slowStart: timeouts.slowStart)
            }
        }
        let key = settings.balance == .hashKey ? request.balanceKey : 0
        let tried = request.triedServers.compactMap { tried in
            servers.firstIndex { $0.state === tried }
        }
        while let index = balancer.next(loads, key: key, tried: tried) {
            if group.mayUse(servers[index].state, now: now) { return servers[index] }
            // Another request is trying it.
            loads[index].isUsable = false
        }
        // If no server works, all are tried: a wrong verdict must not take the whole upstream away.
        for (index, server) in servers.enumerated() {
            loads[index].isUsable = hasRoom(server, mayConnect: mayConnect)
        }
        return (balancer.next(loads, key: key, tried: tried) ?? balancer.next(loads, key: key))
            .map { servers[$0] }
    }

    /// Whether there is a server that `request` has not tried.
    func hasUntried(by request: any PooledRequest) -> Bool {
        servers.contains { server in
            !request.triedServers.contains { $0 === server.state }
        }
    }

    /// Makes a connection for a health check. It is not counted against limits, and never kept.
    func connectForCheck(to state: ServerState) -> (any RequestSink)? {
        guard let server = servers.first(where: { $0.state === state }) else { return nil }
        if settings.protocol == .http2 { return share(server, isForCheck: true).lease() }
        let connection = connect(to: server)
        connection.isForCheck = true
        return connection
    }

    // MARK: giving back

    /// Takes a connection back whose request is complete.
    func giveBack(_ connection: UpstreamConnection) {
        let server = connection.server
        guard !isRetired, !host.isDraining, !server.isRetired, !connection.isForCheck,
            idleCount < settings.idleConnectionCountMax || waitingCount > 0,
            connection.requestCount < settings.requestsPerConnectionMax
        else {
            connection.close()
            return
        }
        connection.isIdle = true
        idleCount += 1
        server.idle.append(connection)
        waiting?.wake()
    }

    /// A request on a shared connection has ended.
    func placeCameFree(on connection: MultiplexedConnection) {
        if connection.isIdle, !mayKeep(connection) { connection.close() }
        waiting?.wake()
    }

    private func mayKeep(_ connection: MultiplexedConnection) -> Bool {
        guard !isRetired, !host.isDraining, !connection.server.isRetired,
            !connection.isForCheck, connection.state != .ending
        else { return false }
        let idleCount = servers.reduce(0) { $0 + $1.shared.count { $0.isIdle } }
        return idleCount <= settings.idleConnectionCountMax || waitingCount > 0
    }

    func connectionClosed(_ connection: MultiplexedConnection) {
        connection.server.shared.removeAll { $0 === connection }
        connectionCount -= 1
        connection.server.connectionCount -= 1
        waiting?.wake()
    }

    func connectionClosed(_ connection: UpstreamConnection) {
        let server = connection.server
        if connection.isIdle {
            idleCount -= 1
            server.idle.removeAll { $0 === connection }
        }
        connectionCount -= 1
        server.connectionCount -= 1
        waiting?.wake()
    }

    /// The configuration has left this upstream behind: idle connections end now, leased ones with
    /// their request.
    func retire() {
        isRetired = true
        closeIdle()
    }

    func closeIdle() {
        for server in servers { server.closeIdle() }
    }

    // MARK: health

    /// A server failed a request. Logs the change that follows.
    func serverFailed(_ server: PooledServer, _ failure: UpstreamFailure) {
        if failure == .exhausted {
            log.repeatedEvent(
                "out_of_descriptors", "no connection to \(settings.name) can be made")
            return
        }
        server.meter.countFailure()
        let name = "\(settings.name) \(server.state.text)"
        let isFailing = server.state.failed(atLeast: settings.ejection.failureCount)
        switch group.failed(server.state, now: loop.now.nanoseconds) {
        case .ejected(let nanoseconds):
            log.event(
                "server_ejected",
                "\(name): left out for \(nanoseconds / 1_000_000) ms: \(failure.text)")
        case .returned: break
        case nil:
            guard isFailing, !server.state.isEjected else { return }
            log.event("server_failing", "\(name): asked all the same: \(failure.text)")
        }
    }

    /// The head of an answer has come to a request that was sent at `startedAt`.
    func serverAnswered(_ server: PooledServer, startedAt: MonotonicInstant) {
        durations.record(nanoseconds: loop.now.nanoseconds(since: startedAt))
        let wasFailing = server.state.answered()
        let change = group.succeeded(server.state, now: loop.now.nanoseconds)
        guard wasFailing || change == .returned, !server.state.isEjected else { return }
        let what = change == .returned ? "used again" : "answers again"
        log.event(
            level: "info", "server_returned", "\(settings.name) \(server.state.text): \(what)")
    }
}
