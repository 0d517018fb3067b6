import EventLoop
import Settings
import Synchronization

/// The state of one address of an upstream's server, shared by all workers.
final class ServerState: Sendable {
    let entry: UpstreamServer
    let address: SocketAddress
    /// The server's name in logs and metrics.
    let text: String
    /// The server's number for ``BalancePolicy/hashKey``.
    let identity: UInt64
    fileprivate let ejectedUntil = Atomic<UInt64>(0)
    /// True if a success would change something.
    fileprivate let hasFailed = Atomic<Bool>(false)
    private let isDownByCheck = Atomic<Bool>(false)
    private let failuresInARow = Atomic<Int>(0)
    private let isKnownToFail = Atomic<Bool>(false)
    /// The time at which the server was put back, in monotonic nanoseconds; 0 if it was never
    /// ejected.
    private let returnedAt = Atomic<UInt64>(0)

    init(_ entry: UpstreamServer, address: SocketAddress) {
        self.entry = entry
        self.address = address
        text = address.description
        identity = KeyHash.hash(text.utf8)
    }

    /// The verdict of the health checks.
    var isDown: Bool {
        get { isDownByCheck.load(ordering: .relaxed) }
        set { isDownByCheck.store(newValue, ordering: .relaxed) }
    }

    /// True if the last requests failed one after another, even if the server was not ejected for
    /// that.
    var isFailing: Bool { isKnownToFail.load(ordering: .relaxed) }

    /// A request failed. True if it is the last of `count` in a row, which makes the server a
    /// failing one; a `count` of 0 stands for the default.
    func failed(atLeast count: Int) -> Bool {
        let enough = count > 0 ? count : EjectionSettings().failureCount
        guard failuresInARow.wrappingAdd(1, ordering: .relaxed).newValue >= enough else {
            return false
        }
        return !isKnownToFail.exchange(true, ordering: .relaxed)
    }

    /// A request was answered. True if it is the first answer after the server counted as failing.
    func answered() -> Bool {
        // Read first, because nearly always there is nothing to write.
        guard failuresInARow.load(ordering: .relaxed) > 0 else { return false }
        failuresInARow.store(0, ordering: .relaxed)
        return isKnownToFail.exchange(false, ordering: .relaxed)
    }

    /// Requests go to the server again from `now` on.
    func returned(now: UInt64) { returnedAt.store(now, ordering: .relaxed) }

    /// Its weight; a configured weight of 1 is ``weightUnit``. After the server was put back the
    /// weight grows for `slowStart`. It is never 0, because the server would then be out.
    func weight(now: UInt64, slowStart: UInt64) -> Int {
        let whole = entry.weight * Self.weightUnit
        let returnedAt = returnedAt.load(ordering: .relaxed)
        guard returnedAt > 0, now < returnedAt &+ slowStart else { return whole }
        let elapsed = now > returnedAt ? now - returnedAt : 0
        return max(1, Int(Double(whole) * Double(elapsed) / Double(slowStart)))
    }

    /// A server of weight 1 starts with the 256th part of its share.
    static let weightUnit = 256

    /// True if the server is left out because requests failed.
    var isEjected: Bool { ejectedUntil.load(ordering: .relaxed) > 0 }

    /// True if requests may go to the server, or if one request may try whether it is back. `now`
    /// in nanoseconds.
    func isUsable(now: UInt64) -> Bool {
        !isDown && now >= ejectedUntil.load(ordering: .relaxed)
    }
}

/// The servers of one upstream, as its names were last resolved.
///
/// Workers read atomics. The rules of ejection run behind a lock, which only failures and the
/// success after them take.
final class ServerGroup: Sendable {
    let settings: UpstreamSettings
    let servers: [ServerState]
    /// The servers that have no address yet.
    let unresolved: [Endpoint]
    private let ejection: Locked<Ejection>

    /// `addresses`: the addresses by entry of `settings.servers`. The state that `old` has of the
    /// same addresses is kept.
    init(_ settings: UpstreamSettings, addresses: [[SocketAddress]], old: ServerGroup? = nil) {
        self.settings = settings
        var servers: [ServerState] = []
        for (entry, addresses) in zip(settings.servers, addresses) {
            for address in addresses where !servers.contains(where: { $0.address == address }) {
                let known = old?.servers.first { $0.address == address && $0.entry == entry }
                servers.append(known ?? ServerState(entry, address: address))
            }
        }
        self.servers = servers
        unresolved = zip(settings.servers, addresses).filter(\.1.isEmpty).map(\.0.endpoint)
        let indexes = servers.map { server in old?.servers.firstIndex { $0 === server } }
        if let old, old.settings.ejection == settings.ejection {
            ejection = Locked(old.ejection.withLock { $0.carried(to: indexes) })
        } else {
            for server in servers { server.ejectedUntil.store(0, ordering: .relaxed) }
            ejection = Locked(Ejection(settings.ejection, serverCount: servers.count))
        }
    }

    /// True if the group has the same servers in any order, because name servers shuffle them.
    func hasSameServers(as other: ServerGroup) -> Bool {
        servers.count == other.servers.count && unresolved == other.unresolved
            && servers.allSatisfy { server in other.servers.contains { $0 === server } }
    }

    /// True if failures are counted. A single server is used however often it fails.
    var countsFailures: Bool { settings.ejection.failureCount > 0 && servers.count > 1 }

    /// A request failed by the server's fault. Returns the change that it caused.
    func failed(_ server: ServerState, now: UInt64) -> Ejection.Change? {
        guard countsFailures else { return nil }
        return update(server) { $0.failed($1, now: now) }
    }

    /// A request was answered.
    func succeeded(_ server: ServerState, now: UInt64) -> Ejection.Change? {
        guard server.hasFailed.load(ordering: .relaxed) else { return nil }
        let change = update(server) { $0.succeeded($1, now: now) }
        if change == .returned { server.returned(now: now) }
        return change
    }

    /// True if the caller's request may try a server whose time out is over; also for a server that
    /// is not ejected.
    func mayUse(_ server: ServerState, now: UInt64) -> Bool {
        guard server.isEjected else { return true }
        return update(server) { $0.beginTrial($1, now: now) } ?? false
    }

    private func update<Result: Sendable>(
        _ server: ServerState, _ change: (inout Ejection, Int) -> Result?
    ) -> Result? {
        guard let index = servers.firstIndex(where: { $0 === server }) else { return nil }
        return ejection.withLock { ejection in
            let result = change(&ejection, index)
            server.ejectedUntil.store(ejection.ejectedUntil(index), ordering: .relaxed)
            server.hasFailed.store(!ejection.isClean(index), ordering: .relaxed)
            return result
        }
    }
}
