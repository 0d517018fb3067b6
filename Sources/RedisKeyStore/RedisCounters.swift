public import Attestation
public import Bytes
public import EventLoop
public import KeyStore
public import Redis

/// The counters of all devices, in Redis, as one worker sees them: one connection to each master,
/// one script call for each request.
///
/// An answer that is lost on the way counts as `.unknown`, and the command is never repeated.
public final class RedisCounters: CounterStore {
    private let calls: CounterCalls
    private let masters: any CounterMasters
    private let quotas: QuotaCalls
    private var checkTimer: Timer?

    /// Called when ``isConnected``, ``isAvailable`` or an incarnation has changed, and for each
    /// failed attempt.
    public var onStateChange: (() -> Void)?
    /// Called when a master comes back under another incarnation, before anything is sealed under
    /// it: it may have lost what was accepted there.
    public var onLoss: (() -> Void)?
    /// Called with the number of accepted requests that too few replicas had in time.
    public var onUnconfirmed: ((Int) -> Void)?
    /// Called each time with a master's words when it refuses a command.
    public var onRefusal: ((String) -> Void)?

    /// Connects, and connects again whenever a connection is lost, until ``close()`` or until this
    /// object is released. Call it, and everything else, on the loop's thread. `news` and
    /// `quotas`: the state that the workers of this process share.
    public init(
        loop: EventLoop, configuration: RedisCounterConfiguration,
        news: IncarnationNews = IncarnationNews(), quotas: KnownQuotas = KnownQuotas()
    ) {
        let calls = CounterCalls(configuration)
        self.calls = calls
        let masters: any CounterMasters =
            configuration.isCluster
            ? CounterCluster(loop: loop, configuration: configuration, calls: calls, news: news)
            : CounterServer(loop: loop, configuration: configuration, calls: calls, news: news)
        self.masters = masters
        self.quotas = QuotaCalls(
            loop: loop, layout: calls.layout, masters: masters, known: quotas)
        masters.onStateChange = { [weak self] in
            guard let self else { return }
            self.quotas.stateChanged()
            onStateChange?()
        }
        masters.onUnconfirmed = { [weak self] in self?.onUnconfirmed?($0) }
        masters.onLoss = { [weak self] in
            guard let self else { return }
            self.quotas.lost()
            onLoss?()
        }
        masters.onRefusal = { [weak self] in self?.onRefusal?($0) }
        let timer = Timer(loop: loop) { [weak masters] in masters?.check() }
        timer.scheduleRepeating(every: configuration.checkInterval)
        checkTimer = timer
        masters.open()
    }

    /// The time by which a challenge with this id, for this key or for any, is judged: the clock of
    /// the master that will keep it, extrapolated from its last answer. While that master cannot be
    /// reached, it is the last known one; nil until it was first reached.
    public func moment(keyID: KeyID?, challenge: Bytes16) -> StoreMoment? {
        masters.moment(keyID: keyID, challenge: challenge)
    }

    public func sealingMoment(keyID: KeyID?, challenge: Bytes16) -> StoreMoment? {
        masters.node(keyID: keyID, challenge: challenge)?.sealingMoment
    }

    public func mayHaveBegun(
        _ incarnation: Incarnation, keyID: KeyID?, challenge: Bytes16
    ) -> Bool {
        masters.node(keyID: keyID, challenge: challenge)?.mayHaveBegun(incarnation) ?? false
    }

    public func look(
        for incarnation: Incarnation, keyID: KeyID?, challenge: Bytes16,
        reply: @escaping () -> Void
    ) {
        guard let node = masters.node(keyID: keyID, challenge: challenge) else { return reply() }
        node.look(for: incarnation, reply: reply)
    }

    /// True if at least one master can be asked.
    public var isConnected: Bool { masters.isConnected }

    /// True if every key's master can be asked.
    package var isWhole: Bool { masters.isWhole }

    public var isShared: Bool { true }
    public var isAvailable: Bool { isConnected && masters.refusal == nil }
    public var failureText: String {
        if let words = masters.refusal { return "the server refuses: \(words)" }
        return lastFailure.map(\.description) ?? "no connection yet"
    }

    /// Makes all callbacks report to `observer`.
    public func report(to observer: CounterStoreObserver) {
        var wasAvailable = false
        onStateChange = { [unowned self] in
            guard isAvailable != wasAvailable else { return }
            wasAvailable = isAvailable
            observer.availabilityChanged(wasAvailable)
        }
        onLoss = observer.lost
        onUnconfirmed = observer.unconfirmed
        onRefusal = observer.refused
    }

    /// The reason why there is no connection, or was none before the present one.
    public var lastFailure: RedisFailure? { masters.lastFailure }

    /// Accepts the counter and spends the challenge, or neither; a challenge that is bound to no
    /// key may be spent in vain. `reply` is called once, and before this returns if there is no
    /// connection.
    public func advance(_ request: CounterAdvance, reply: @escaping (CounterVerdict) -> Void) {
        masters.advance(request, reply: reply)
    }

    /// Counts together with other gateways. `reply` is called once, perhaps before this returns,
    /// with nil if nothing is known.
    public func tally(_ tally: SharedTally, reply: @escaping (SharedCounts?) -> Void) {
        let command = TallyScript.command(
            tally,
            names: (
                current: calls.layout.tally(tally.name, half: tally.half),
                previous: calls.layout.tally(tally.name, half: tally.half - 1)
            ))
        masters.ask(command, by: tally.name) { outcome in
            guard case .reply(let answer) = outcome else { return reply(nil) }
            reply(TallyScript.counts(answer, of: tally))
        }
    }

    /// Accepts a token of another issuer once: `.accepted` or `.replayed`. Any other verdict means
    /// that the store could not tell. The token is remembered for `life`. `reply` is called as by
    /// ``advance(_:reply:)``.
    public func spendToken(
        _ id: Bytes16, forMilliseconds life: Int, reply: @escaping (CounterVerdict) -> Void
    ) {
        guard let moment = moment(keyID: nil, challenge: id) else { return reply(.unavailable) }
        masters.run(
            calls.spend(token: id, forMilliseconds: life, at: moment), by: id, reply: reply)
    }

    /// True if the token was accepted before; false also if the store could not tell. `reply` is
    /// called as by ``advance(_:reply:)``.
    public func isTokenSpent(
        _ id: Bytes16, forMilliseconds life: Int, reply: @escaping (Bool) -> Void
    ) {
        var command = RedisCommand("GET")
        calls.layout.append(CounterNames(challenge: id), .spend, to: &command)
        masters.ask(command, by: id) { outcome in
            if case .reply(.bulk) = outcome { reply(true) } else { reply(false) }
        }
    }

    /// Changes the count of a quota. `reply` is called once, perhaps before this returns.
    public func charge(_ charge: QuotaCharge, reply: @escaping (QuotaVerdict) -> Void) {
        quotas.charge(charge, reply: reply)
    }

    /// Uses new credentials for connections that are made from now on; existing ones stay. Only the
    /// way in which servers are reached may differ from before.
    public func update(_ next: RedisCounterConfiguration) { masters.update(next) }

    /// Does nothing, because Redis expires keys by itself.
    public func sweep() {}

    /// Settles what is in flight and lets go of the connections for good.
    public func close() {
        checkTimer?.cancel()
        masters.close()
    }

    // Calls in flight would keep the connections until they are answered.
    deinit { close() }
}
