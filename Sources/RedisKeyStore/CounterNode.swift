import Attestation
import EventLoop
import KeyStore
import Redis

/// The counters of one master, as one worker sees them: a connection, the script there, and the
/// incarnation of the counters.
///
/// An answer that is lost on the way counts as `.unknown`, and the command is never repeated.
final class CounterNode {
    private let loop: EventLoop
    let layout: RedisKeyLayout
    let isCluster: Bool
    private let wait: RedisWait?
    private(set) var connection: RedisConnection?
    /// The SHA-1 of the script, as the server gave it.
    private(set) var scriptDigest: String? { didSet { updateFrame() } }
    /// The arguments that calls of the script share; nil without its SHA-1.
    private var frame: CounterFrame?
    private var isLoadingScript = false
    private var isChecking = false
    private var held = HeldCalls()
    /// Adopted after the handshake: no challenge is sealed for a server that would not spend it.
    private var found: (look: ServerLook, at: MonotonicInstant)?
    private var handshake: (newsNumber: UInt64, record: [UInt8]) = (0, [])
    private var checkDueAt = MonotonicInstant(nanoseconds: 0)
    private let checkPatience: Duration
    private let known: KnownIncarnation
    /// The time from which a call of the counter script checks the whole identity again.
    private var lookDueAt = MonotonicInstant(nanoseconds: 0)
    private var command = RedisCommand()
    private lazy var confirmation = ReplicaConfirmation(loop: loop, wait: wait) {
        [unowned self] in connection
    }

    /// The name of the record of the incarnation, in a slot of this master.
    private(set) var record: [UInt8] { didSet { updateFrame() } }
    /// The incarnation: nil until the first connection, and the last known one while there is none.
    var incarnation: Incarnation? { known.incarnation }
    /// The incarnation, and the server's clock extrapolated since the last answer.
    var moment: StoreMoment? { known.moment(at: loop.now) }
    /// The value of ``moment``, or a later one that another worker's look has learned.
    var sealingMoment: StoreMoment? {
        guard let news = known.newsMoment(of: record, at: loop.now) else { return moment }
        checkIncarnation()
        return news
    }
    private(set) var isConnected = false
    /// The words in which the master refuses to write, to be looked at, or to run the counter
    /// script; nil if it does not.
    var refusal: String? { complaints.words }
    var complaints = Complaints() {
        didSet {
            let isNews = (refusal == nil) != (oldValue.words == nil)
            if isNews, isConnected { onStateChange?() }
        }
    }

    /// The reason why there is no connection, or was none before the present one.
    private(set) var lastFailure: RedisFailure?
    /// Called when ``isConnected``, ``refusal`` or ``incarnation`` has changed, and for each failed
    /// attempt.
    var onStateChange: (() -> Void)?
    /// Called once after ``leave()``, when nothing is in flight any more.
    var onLeft: (() -> Void)?
    /// Called with the number of accepted requests that too few replicas had in time.
    var onUnconfirmed: ((Int) -> Void)? {
        get { confirmation.onUnconfirmed }
        set { confirmation.onUnconfirmed = newValue }
    }
    /// Called when the master may have lost what was accepted there.
    var onLoss: (() -> Void)?
    /// Called with the master's words when it refuses a command and the connection stays.
    var onRefusal: ((String) -> Void)? {
        get { refusals.onRefusal }
        set { refusals.onRefusal = newValue }
    }
    private let refusals = RefusalReport()
    /// Finds out which right the handshake lacks.
    private var inquiry: RightsInquiry?
    private var isLeaving = false

    /// `succeedsAnother`: another master may have held these counters before, and more of them.
    init(
        loop: EventLoop, configuration: RedisCounterConfiguration, connection: RedisConfiguration,
        record: [UInt8], news: IncarnationNews, locator: (any RedisLocator)? = nil,
        succeedsAnother: Bool = false
    ) {
        known = KnownIncarnation(news: news, succeedsAnother: succeedsAnother)
        self.loop = loop
        self.record = record
        layout = RedisKeyLayout(prefix: configuration.keyPrefix)
        isCluster = configuration.isCluster
        wait = configuration.wait
        checkPatience = configuration.checkInterval * 2
        self.connection = RedisConnection(
            loop: loop, configuration: connection, owner: self, locator: locator)
    }

    func open() { connection?.open() }

    /// The server that it is connected to, or was last to be connected to.
    var endpoint: RedisEndpoint? { connection?.endpoint }

    /// Changes the settings of connections that are made from now on.
    func update(_ configuration: RedisConfiguration) { connection?.configuration = configuration }

    /// Settles what is in flight and lets go of the connection for good.
    func close() { connection?.close() }

    /// Accepts no more calls; closes once all commands in flight are answered.
    func leave() {
        guard !isLeaving else { return }
        isLeaving = true
        if isConnected {
            connection?.retire(because: .closed)
        } else {
            connection?.close()
        }
    }

    /// Reconnects once all commands in flight are answered.
    func reconnect(because reason: RedisFailure) {
        if isConnected {
            connection?.retire(because: reason)
        } else {
            connection?.drop(because: reason)
        }
    }

    // MARK: the counter

    /// `isAgain`: the server did not know the script. `reply` is called once, and before this
    /// returns if there is no connection.
    func run(
        _ call: CounterScript.Call, isAsking: Bool = false, isAgain: Bool = false,
        reply: @escaping (Outcome) -> Void
    ) {
        guard let connection, let frame, isConnected else { return reply(.verdict(.unavailable)) }
        // A worker that was stopped for a while may have missed changes.
        if loop.now >= checkDueAt { checkIncarnation(isForced: true) }
        if isAsking { connection.send(RedisCommand("ASKING")) { _ in } }
        var call = call
        call.notedMilliseconds = known.notedMilliseconds
        // A challenge of another incarnation is refused before the script would check the identity.
        if loop.now >= lookDueAt, call.incarnation == incarnation {
            call.look = .whole
            lookDueAt = loop.now + CounterScript.lookInterval
        }
        call.write(frame, to: &command)
        connection.send(command) { [call] outcome in
            self.settle(call, outcome, isAsking: isAsking, isAgain: isAgain, reply: reply)
        }
    }

    private func settle(
        _ call: CounterScript.Call, _ outcome: RedisOutcome, isAsking: Bool, isAgain: Bool,
        reply: @escaping (Outcome) -> Void
    ) {
        switch outcome {
        case .unavailable, .full:
            lookLater(than: call)
            reply(.verdict(outcome == .full ? .full : .unavailable))
        case .unknown: reply(.verdict(.unknown))
        case .reply(.error(let line)):
            settleError(line, call, isAsking: isAsking, isAgain: isAgain, reply: reply)
        case .reply(let answer):
            guard let verdict = CounterScript.verdict(answer) else {
                dropForGarbage()
                return reply(.verdict(.unknown))
            }
            // The script ends before that check if the key is revoked.
            if verdict == .revoked { lookLater(than: call) }
            if verdict == .incarnationChanged, call.incarnation == incarnation {
                return afterLook { reply(.verdict(verdict)) }
            }
            compareIncarnation(with: call, verdict)
            guard verdict == .accepted, wait != nil else { return reply(.verdict(verdict)) }
            confirmation.hold { reply(.verdict(.accepted)) }
        }
    }

    private func updateFrame() {
        frame = scriptDigest.map {
            CounterFrame(
                layout, digest: $0, record: record, isRecordKey: !isCluster, isCluster: isCluster)
        }
    }

    /// Has the next call check the identity in place of one that was to and did not.
    private func lookLater(than call: CounterScript.Call) {
        if call.look != .quick { lookDueAt = loop.now }
    }

    private func settleError(
        _ line: String, _ call: CounterScript.Call, isAsking: Bool, isAgain: Bool,
        reply: @escaping (Outcome) -> Void
    ) {
        lookLater(than: call)
        if isCluster {
            if let redirection = RedisRedirection(line, askedAt: endpoint) {
                return reply(.redirected(redirection))
            }
            if line.hasPrefix("TRYAGAIN") { return reply(.tryAgain) }
            if line.hasPrefix("CLUSTERDOWN") { return reply(.clusterDown) }
        }
        switch RedisServerError(line) {
        case .noScript where !isAgain:
            // Nothing ran. The server takes commands in order: the script comes before the call.
            loadScript()
            return run(call, isAsking: isAsking, isAgain: true, reply: reply)
        case .refusedByConnection:
            retire(becauseOf: line)
        case .other where ServerLife.isRefusal(line):
            retire(becauseOf: line)
        case .refused:
            tellRefusal(line)
            // A server that refuses everything makes the store unready.
            if refusal == nil { checkIncarnation() }
        case .noScript, .other: tellRefusal(line)
        }
        reply(.verdict(Self.verdict(ofError: line)))
    }

    func tellRefusal(_ line: String) {
        guard let connection else { return }
        refusals.tell(line, on: connection, record: record, isCluster: isCluster)
    }

    func loadScript() {
        guard !isLoadingScript, let connection else { return }
        isLoadingScript = true
        connection.send(RedisCommand("SCRIPT", "LOAD", CounterScript.source)) { [self] outcome in
            isLoadingScript = false
            guard case .reply(let reply) = outcome else { return }
            if let digest = Self.digest(reply) {
                scriptDigest = digest
            } else {
                giveUp(on: reply)
            }
        }
    }

    // MARK: the incarnation

    /// Looks again if a reply contradicts the last known incarnation.
    private func compareIncarnation(with call: CounterScript.Call, _ verdict: CounterVerdict) {
        switch verdict {
        case .accepted, .replayed, .challengeSpent, .counterUsed, .counterTooLow, .rateLimited:
            if call.incarnation != incarnation { checkIncarnation() }
        case .challengeExpired, .incarnationChanged, .stateHealed, .revoked, .unavailable, .full,
            .unknown:
            break
        }
    }

    /// Calls `call` after a look that begins now or later.
    private func afterLook(_ call: @escaping () -> Void) {
        guard isConnected else { return call() }
        held.hold(call, isLooking: isChecking)
        checkIncarnation()
    }

    private func lookEnded() {
        for call in held.take() { call() }
        // One of the calls may have begun the next look.
        guard !held.isEmpty, !isChecking else { return }
        if isConnected { checkIncarnation() } else { lookEnded() }
    }

    /// True if a challenge of `incarnation` may be good although it is not the incarnation known
    /// here: another worker, or another gateway, may have looked since.
    func mayHaveBegun(_ incarnation: Incarnation) -> Bool {
        isServing && known.mayHaveBegun(incarnation)
    }

    /// Looks if the store is under `incarnation` by now, and calls `reply` once.
    func look(for incarnation: Incarnation, reply: @escaping () -> Void) {
        afterLook { [self] in
            if isConnected { known.asked(for: incarnation) }
            reply()
        }
    }

    /// Looks at the server. Commands that are sent afterwards are judged by the result, because the
    /// server takes commands in order.
    func checkIncarnation(isForced: Bool = false) {
        guard isConnected, !isChecking || isForced, let connection else { return }
        isChecking = true
        checkDueAt = loop.now + checkPatience
        let (record, newsNumber) = (record, known.news.number)
        connection.send(lookCommand()) { [self] outcome in
            isChecking = false
            defer { lookEnded() }
            // The answer is about another record, in a slot that has moved away.
            guard record == self.record else { return }
            if case .reply(let reply) = outcome {
                if let found = ServerLook(reply) {
                    return adopt(found, after: newsNumber, at: loop.now)
                }
                giveUp(on: reply)
            }
            // So that the next call looks.
            checkDueAt = loop.now
        }
        tryScript(on: connection)
    }

    private func lookCommand() -> RedisCommand {
        // The answer took a moment, so the server's clock is ahead of this.
        let earliest = moment.map { $0.milliseconds - Int64(ServerLife.stepMilliseconds) }
        return IncarnationScript.command(
            record: record, isCluster: isCluster, since: known.look,
            earliestMilliseconds: earliest ?? 0)
    }

    /// The master's slots have changed. If the record stays, it is looked at again, because slots
    /// may have come without counters that another master lost.
    func moveRecord(to name: [UInt8]) {
        if name != record {
            record = name
            known.forget()
        }
        checkIncarnation(isForced: true)
    }

    /// Takes the result of a look that began when the news had come to `number`.
    private func adopt(_ found: ServerLook, after number: UInt64, at instant: MonotonicInstant) {
        let isChanged = found.incarnation != incarnation
        // Before anything is sealed under the new incarnation.
        if isChanged, known.hadOne { onLoss?() }
        known.adopt(found, of: record, after: number, at: instant)
        complaints.ofLook = found.refusal
        if isChanged, isConnected { onStateChange?() }
    }
}

extension CounterNode: RedisConnectionOwner {
    func handshakeStep(after reply: RedisReply?) -> RedisHandshakeStep {
        if inquiry != nil { return inquiryStep(after: reply) }
        switch reply {
        case nil:
            (scriptDigest, found) = (nil, nil)
            handshake = (known.news.number, record)
            return .send(lookCommand())
        case .error(let line):
            guard RightsInquiry.isNeeded(for: line) else {
                return .refused("handshake: \(line.prefix(200))")
            }
            inquiry = RightsInquiry(about: line, record: record, isCluster: isCluster)
            return inquiryStep(after: nil)
        case .some(let reply):
            if let found = ServerLook(reply) {
                self.found = (found, loop.now)
                return .send(RedisCommand("SCRIPT", "LOAD", CounterScript.source))
            }
            if let digest = Self.digest(reply) {
                scriptDigest = digest
                return .send(CounterScript.trial(digest: digest, record: record))
            }
            if scriptDigest != nil, CounterScript.isOfTrial(reply) { return .finished }
            return .refused("handshake: the server's answer is not Redis'")
        }
    }

    private func inquiryStep(after reply: RedisReply?) -> RedisHandshakeStep {
        switch inquiry?.step(after: reply) {
        case .ask(let command): return .send(command)
        case .found(let words):
            inquiry = nil
            return .refused("handshake: \(words.prefix(200))")
        case nil: return .finished
        }
    }

    func connectionBecameReady() {
        // Another record may have taken its place meanwhile.
        if let found, handshake.record == record {
            adopt(found.look, after: handshake.newsNumber, at: found.at)
        }
        isConnected = true
        checkDueAt = loop.now + checkPatience
        lookDueAt = loop.now
        isChecking = false
        isLoadingScript = false
        if known.look == nil { checkIncarnation() }
        onStateChange?()
    }

    func connectionFailed(_ failure: RedisFailure) {
        inquiry = nil
        isConnected = false
        complaints = Complaints()
        lastFailure = failure
        onStateChange?()
        guard isLeaving, connection?.isRetiring != true else { return }
        connection?.close()
        onLeft?()
    }
}
