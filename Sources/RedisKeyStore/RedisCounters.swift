public import AppAttest
public import Bytes
public import EventLoop
public import KeyStore
public import Redis

/// The counters of all devices, in Redis, as one worker sees them: one connection to each master,
/// one script call for each request.
///
/// An answer that is lost on the way is `.unknown` and never asked for again.
public final class RedisCounters: CounterStore {
    private let configuration: RedisCounterConfiguration
    private let layout: RedisKeyLayout
    private let masters: Masters
    private var sentinel: RedisSentinel?
    private var checkTimer: Timer?

    private enum Masters {
        /// A server by itself, or the one that Sentinels name.
        case one(CounterNode)
        case cluster(CounterCluster)
    }

    /// Called when ``isConnected`` or an incarnation has changed, and for each failed attempt.
    public var onStateChange: (() -> Void)?
    /// Called when a master comes back under another incarnation, before anything is sealed under
    /// it: it may have lost what was accepted there.
    public var onLoss: (() -> Void)?
    /// Called with the number of accepted requests that too few replicas had in time.
    public var onUnconfirmed: ((Int) -> Void)?

    /// Connects, and connects again whenever a connection is lost, until ``close()`` or until
    /// nobody holds this object any more. Call it, and everything else, on the loop's thread.
    public init(loop: EventLoop, configuration: RedisCounterConfiguration) {
        self.configuration = configuration
        let layout = RedisKeyLayout(prefix: configuration.keyPrefix)
        self.layout = layout
        if configuration.isCluster {
            let cluster = CounterCluster(loop: loop, configuration: configuration, layout: layout)
            masters = .cluster(cluster)
            cluster.onStateChange = { [weak self] in self?.onStateChange?() }
            cluster.onUnconfirmed = { [weak self] in self?.onUnconfirmed?($0) }
            cluster.onLoss = { [weak self] in self?.onLoss?() }
            checkTimer = Timer(loop: loop) { [weak cluster] in cluster?.check() }
            cluster.open()
        } else {
            let sentinel = configuration.sentinel.map {
                RedisSentinel(loop: loop, configuration: $0)
            }
            let node = CounterNode(
                loop: loop, configuration: configuration, connection: configuration.connection,
                record: layout.record(tag: nil), locator: sentinel)
            self.sentinel = sentinel
            masters = .one(node)
            node.onUnconfirmed = { [weak self] in self?.onUnconfirmed?($0) }
            node.onLoss = { [weak self] in self?.onLoss?() }
            node.onStateChange = { [weak self, weak node, weak sentinel] in
                if node?.isConnected == true { sentinel?.confirm() }
                self?.onStateChange?()
            }
            sentinel?.onSwitch = { [weak node] endpoint in
                guard let node, node.endpoint != endpoint else { return }
                node.reconnect(because: .refusedByServer("Sentinels name \(endpoint) the master"))
            }
            checkTimer = Timer(loop: loop) { [weak node] in node?.checkIncarnation() }
            node.open()
        }
        checkTimer?.scheduleRepeating(every: configuration.checkInterval)
    }

    /// By which a challenge with this id is sealed and judged, for this key or for any: the clock
    /// of the master that will keep it, as it goes on here since the last answer. Nil until that
    /// master was reached; by what was last known while it cannot be.
    public func moment(keyID: KeyID?, challenge: Bytes16) -> StoreMoment? {
        switch masters {
        case .one(let node): node.moment
        case .cluster(let cluster): cluster.moment(keyID: keyID, challenge: challenge)
        }
    }

    /// Whether at least one master can be asked.
    public var isConnected: Bool {
        switch masters {
        case .one(let node): node.isConnected
        case .cluster(let cluster): cluster.isConnected
        }
    }

    /// Whether every key's master can be asked.
    package var isWhole: Bool {
        switch masters {
        case .one(let node): node.isConnected
        case .cluster(let cluster): cluster.isWhole
        }
    }

    public var isShared: Bool { true }
    public var isAvailable: Bool { isConnected }
    public var failureText: String { lastFailure.map(\.description) ?? "no connection yet" }

    /// In place of ``onStateChange``, ``onLoss`` and ``onUnconfirmed``.
    public func report(to observer: CounterStoreObserver) {
        var wasAvailable = false
        onStateChange = { [unowned self] in
            guard isAvailable != wasAvailable else { return }
            wasAvailable = isAvailable
            observer.availabilityChanged(wasAvailable)
        }
        onLoss = observer.lost
        onUnconfirmed = observer.unconfirmed
    }

    /// Why there is no connection, or was none before the present one.
    public var lastFailure: RedisFailure? {
        switch masters {
        case .one(let node): node.lastFailure
        case .cluster(let cluster): cluster.lastFailure
        }
    }

    /// Accepts the counter and spends the challenge, or neither; a challenge that is bound to no
    /// key may be spent in vain. `reply` is called once: before this returns where there is no
    /// connection.
    public func advance(_ request: CounterAdvance, reply: @escaping (CounterVerdict) -> Void) {
        switch masters {
        case .one(let node):
            node.run(call(request, .whole)) { outcome in
                // No server by itself redirects.
                if case .verdict(let verdict) = outcome { reply(verdict) } else { reply(.unknown) }
            }
        case .cluster(let cluster):
            let keySlot = RedisSlot(ofTag: layout.tag(request.keyID))
            guard !request.challenge.isBound else {
                return cluster.run(call(request, .whole), in: keySlot, reply: reply)
            }
            let challengeSlot = RedisSlot(ofTag: layout.tag(request.challenge.id))
            guard
                let moment = cluster.moment(keyID: request.keyID, challenge: request.challenge.id)
            else { return reply(.unavailable) }
            let count = call(request, .count, moment.incarnation)
            cluster.run(call(request, .spend), in: challengeSlot) { [weak cluster] verdict in
                guard verdict == .accepted else { return reply(verdict) }
                guard let cluster else { return reply(.unknown) }
                cluster.run(count, in: keySlot) { [weak cluster] verdict in
                    // Whoever is too fast may send the same request again later.
                    if case .rateLimited = verdict {
                        cluster?.forget(count.names.spent, in: challengeSlot)
                    }
                    // The challenge is spent: the same assertion cannot come again.
                    let isLeft = verdict == .unavailable || verdict == .full
                    reply(isLeft ? .unknown : verdict)
                }
            }
        }
    }

    /// Counts together with other gateways. `reply` is called once, perhaps before this returns,
    /// with nil where nothing is known.
    public func tally(_ tally: SharedTally, reply: @escaping (SharedCounts?) -> Void) {
        let command = TallyScript.command(
            tally,
            names: (
                current: layout.tally(tally.name, half: tally.half),
                previous: layout.tally(tally.name, half: tally.half - 1)
            ))
        let settle = { (answer: RedisReply?) in
            reply(answer.flatMap { TallyScript.counts($0, of: tally) })
        }
        switch masters {
        case .one(let node): node.ask(command, reply: settle)
        case .cluster(let cluster):
            cluster.ask(command, in: RedisSlot(ofTag: layout.tag(tally.name)), reply: settle)
        }
    }

    /// Accepts a token of somebody else's once: `.accepted` or `.replayed`; others say that nobody
    /// knows. It is remembered for `life`. `reply` is called as by ``advance(_:reply:)``.
    public func spendToken(
        _ id: Bytes16, forMilliseconds life: Int, reply: @escaping (CounterVerdict) -> Void
    ) {
        guard let moment = moment(keyID: nil, challenge: id) else { return reply(.unavailable) }
        // Of a clock that is corrected meanwhile the token knows nothing.
        let expiresAt = moment.milliseconds.addingReportingOverflow(
            Int64(max(life, 1) + ServerLife.stepMilliseconds))
        let call = CounterScript.Call(
            part: .spend, names: layout.names(token: id), incarnation: moment.incarnation,
            counter: 1, windowSize: 1, floor: 0,
            expiresAt: expiresAt.overflow ? .max : expiresAt.partialValue,
            graceMilliseconds: configuration.grace.wholeMilliseconds, stateMilliseconds: 1)
        switch masters {
        case .one(let node):
            node.run(call) { outcome in
                if case .verdict(let verdict) = outcome { reply(verdict) } else { reply(.unknown) }
            }
        case .cluster(let cluster):
            cluster.run(call, in: RedisSlot(ofTag: layout.tag(id)), reply: reply)
        }
    }

    /// Whether the token was accepted before: false also where nobody knows. `reply` is called as
    /// by ``advance(_:reply:)``.
    public func isTokenSpent(
        _ id: Bytes16, forMilliseconds life: Int, reply: @escaping (Bool) -> Void
    ) {
        var command = RedisCommand("GET")
        command.append(layout.names(token: id).spent)
        let settle = { (answer: RedisReply?) in
            if case .bulk = answer { reply(true) } else { reply(false) }
        }
        switch masters {
        case .one(let node): node.ask(command, reply: settle)
        case .cluster(let cluster):
            cluster.ask(command, in: RedisSlot(ofTag: layout.tag(id)), reply: settle)
        }
    }

    /// Under `incarnation`, where it is not that of the challenge.
    private func call(
        _ request: CounterAdvance, _ part: CounterScript.Part, _ incarnation: Incarnation? = nil
    ) -> CounterScript.Call {
        let challenge = request.challenge.id
        return CounterScript.Call(
            part: part,
            names: part == .whole
                ? layout.names(request.keyID, challenge: challenge)
                : layout.names(request.keyID, freeChallenge: challenge),
            incarnation: incarnation ?? request.challenge.incarnation, counter: request.counter,
            windowSize: min(max(request.windowSize, 1), CounterScript.windowSizeMax),
            floor: request.floor, expiresAt: request.challenge.expiresAt,
            graceMilliseconds: configuration.grace.wholeMilliseconds,
            stateMilliseconds: configuration.deviceLifetime.wholeMilliseconds, rates: request.rates)
    }

    /// Logs in anew from now on, wherever a connection is made; what stands stays. Only how servers
    /// are reached may differ from before.
    public func update(_ next: RedisCounterConfiguration) {
        switch masters {
        case .one(let node): node.update(next.connection)
        case .cluster(let cluster): cluster.update(next.connection)
        }
        if let next = next.sentinel { sentinel?.update(next) }
    }

    /// Redis forgets by itself.
    public func sweep() {}

    /// Settles what is in flight and lets go of the connections for good.
    public func close() {
        checkTimer?.cancel()
        sentinel?.close()
        switch masters {
        case .one(let node): node.close()
        case .cluster(let cluster): cluster.close()
        }
    }
}
