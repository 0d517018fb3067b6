public import AppAttest
public import EventLoop
public import KeyStore
public import Redis

/// The counters of all devices, in Redis, as one worker sees them: one connection, one script call
/// for each request.
///
/// An answer that is lost on the way is `.unknown` and never asked for again.
public final class RedisCounters {
    private let configuration: RedisCounterConfiguration
    private let layout: RedisKeyLayout
    private let loop: EventLoop
    private var connection: RedisConnection?
    /// SHA-1 of the script, as the server gave it.
    private var scriptDigest: String?
    private var isLoadingScript = false
    private var isChecking = false
    private var checkTimer: Timer?
    private var command = RedisCommand()

    /// Under which challenges are to be sealed. Nil until the first connection; the last known one
    /// while there is none.
    public private(set) var incarnation: Incarnation?
    public private(set) var isConnected = false
    /// Why there is no connection, or was none before the present one.
    public private(set) var lastFailure: RedisFailure?
    /// Called when ``isConnected`` or ``incarnation`` has changed, and for each failed attempt.
    public var onStateChange: (() -> Void)?

    /// Connects, and connects again whenever the connection is lost, until ``close()`` or until
    /// nobody holds this object any more. Call it, and everything else, on the loop's thread.
    public init(loop: EventLoop, configuration: RedisCounterConfiguration) {
        self.configuration = configuration
        self.loop = loop
        layout = RedisKeyLayout(prefix: configuration.keyPrefix)
        let connection = RedisConnection(
            loop: loop, configuration: configuration.connection, owner: self)
        self.connection = connection
        checkTimer = Timer(loop: loop) { [weak self] in self?.checkIncarnation() }
        checkTimer?.scheduleRepeating(every: configuration.checkInterval)
        connection.open()
    }

    /// Accepts the counter and spends the challenge, or neither. `reply` is called once: before
    /// this returns where there is no connection.
    public func advance(_ request: CounterAdvance, reply: @escaping (CounterVerdict) -> Void) {
        advance(request, isAgain: false, reply: reply)
    }

    /// Settles what is in flight and lets go of the connection for good.
    public func close() {
        checkTimer?.cancel()
        connection?.close()
    }

    // MARK: the counter

    private func advance(
        _ request: CounterAdvance, isAgain: Bool, reply: @escaping (CounterVerdict) -> Void
    ) {
        guard let connection, let scriptDigest else {
            reply(.unavailable)
            return
        }
        build(request, scriptDigest: scriptDigest)
        connection.send(command) { [weak self] outcome in
            switch outcome {
            case .unavailable: reply(.unavailable)
            case .unknown: reply(.unknown)
            case .reply(.integer(let value)):
                guard let code = CounterScript.Code(rawValue: value) else {
                    self?.dropForGarbage()
                    reply(.unknown)
                    return
                }
                self?.compareIncarnation(with: request.challenge.incarnation, code)
                reply(code.verdict)
            case .reply(.error(let line)):
                self?.settleError(line, request, isAgain: isAgain, reply: reply)
            case .reply:
                self?.dropForGarbage()
                reply(.unknown)
            }
        }
    }

    private func build(_ request: CounterAdvance, scriptDigest: String) {
        let device = layout.device(request.keyID)
        let spentFor = max(request.challenge.remainingMilliseconds, 0)
            .addingReportingOverflow(configuration.clockSkew.milliseconds)
        let spentMilliseconds = min(spentFor.overflow ? .max : spentFor.partialValue, expiryMax)
        let spentFloor = max(spentMilliseconds, 1)
        CounterScript.Call(
            incarnationRecord: layout.incarnation, revocationMark: layout.revoked(device),
            deviceState: layout.counter(device),
            spentMark: layout.spent(device, challenge: request.challenge.id),
            incarnation: request.challenge.incarnation, counter: request.counter,
            windowSize: min(max(request.windowSize, 1), CounterScript.windowSizeMax),
            floor: request.floor, spentMilliseconds: spentFloor,
            stateMilliseconds: max(
                spentFloor, min(configuration.deviceLifetime.milliseconds, expiryMax))
        ).write(digest: scriptDigest, to: &command)
    }

    private func settleError(
        _ line: String, _ request: CounterAdvance, isAgain: Bool,
        reply: @escaping (CounterVerdict) -> Void
    ) {
        switch RedisServerError(line) {
        case .noScript where !isAgain:
            // Nothing ran. The server takes commands in order: loading goes before asking again.
            loadScript()
            advance(request, isAgain: true, reply: reply)
        case .noScript, .refused: reply(.unavailable)
        case .refusedByConnection:
            connection?.retire(because: .refusedByServer(String(line.prefix(200))))
            reply(.unavailable)
        case .other:
            // The script's own refusal, before it wrote anything.
            reply(line.hasPrefix("DAMAGED ") ? .unavailable : .unknown)
        }
    }

    private func loadScript() {
        guard !isLoadingScript, let connection else { return }
        isLoadingScript = true
        connection.send(RedisCommand("SCRIPT", "LOAD", CounterScript.source)) {
            [weak self] outcome in
            self?.isLoadingScript = false
            guard let self, case .reply(let reply) = outcome else { return }
            if let digest = Self.digest(reply) {
                scriptDigest = digest
            } else {
                giveUp(on: reply)
            }
        }
    }

    /// Makes a new connection after an answer that leaves this one without script or incarnation.
    private func giveUp(on reply: RedisReply) {
        guard case .error(let line) = reply else {
            dropForGarbage()
            return
        }
        // A server that is busy or full has changed nothing; it is asked again soon.
        if RedisServerError(line) == .refused { return }
        connection?.retire(because: .refusedByServer(String(line.prefix(200))))
    }

    static func digest(_ reply: RedisReply) -> String? {
        guard let text = reply.text, text.utf8.count == 40, text.allSatisfy(\.isHexDigit) else {
            return nil
        }
        return text
    }

    private func dropForGarbage() {
        connection?.drop(because: .protocolViolation(.unexpectedReply))
    }

    // MARK: the incarnation

    /// Asks again where a reply contradicts the incarnation last known. A client that brings a
    /// challenge older than that does not.
    private func compareIncarnation(
        with challengeIncarnation: Incarnation, _ code: CounterScript.Code
    ) {
        switch code {
        case .incarnationChanged:
            if challengeIncarnation == incarnation { checkIncarnation() }
        case .accepted, .replayed, .challengeSpent, .counterUsed:
            if challengeIncarnation != incarnation { checkIncarnation() }
        case .revoked: break
        }
    }

    private func checkIncarnation() {
        guard isConnected, !isChecking, let connection else { return }
        isChecking = true
        connection.send(IncarnationScript.command(layout)) { [weak self] outcome in
            guard let self else { return }
            isChecking = false
            guard case .reply(let reply) = outcome else { return }
            if let found = IncarnationScript.incarnation(reply) {
                adopt(found)
            } else {
                giveUp(on: reply)
            }
        }
    }

    private func adopt(_ found: Incarnation) {
        guard found != incarnation else { return }
        incarnation = found
        if isConnected { onStateChange?() }
    }
}

extension RedisCounters: RedisConnectionOwner {
    public func handshakeStep(after reply: RedisReply?) -> RedisHandshakeStep {
        switch reply {
        case nil: return .send(IncarnationScript.command(layout))
        case .error(let line): return .refused("handshake: \(line.prefix(200))")
        case .some(let reply):
            if let found = IncarnationScript.incarnation(reply) {
                adopt(found)
                return .send(RedisCommand("SCRIPT", "LOAD", CounterScript.source))
            }
            if let digest = Self.digest(reply) {
                scriptDigest = digest
                return .finished
            }
            return .refused("handshake: the server's answer is not Redis'")
        }
    }

    public func connectionBecameReady() {
        isConnected = true
        onStateChange?()
    }

    public func connectionFailed(_ failure: RedisFailure) {
        isConnected = false
        lastFailure = failure
        onStateChange?()
    }
}

/// Far beyond any life of a challenge, far below what Redis takes for `PX`.
private let expiryMax = 100 * 366 * 24 * 3600 * 1000

extension Duration {
    /// Whole milliseconds, at most as many as an expiry may have.
    fileprivate var milliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < Int64(expiryMax / 1000) else { return expiryMax }
        return Int(max(seconds, 0)) * 1000 + Int(max(attoseconds, 0) / 1_000_000_000_000_000)
    }
}
