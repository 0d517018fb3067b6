import Bytes
public import EventLoop
import TLS

/// The next step of a handshake.
public enum RedisHandshakeStep: Sendable {
    case send(RedisCommand)
    case finished
    /// The server cannot be used, for the reason given to the operator.
    case refused(String)
}

/// The owner of a connection, which leads the handshake and is told when the connection may be
/// used.
public protocol RedisConnectionOwner: AnyObject {
    /// The next step, after the connection is authenticated (`reply` is nil) or the last one is
    /// answered.
    func handshakeStep(after reply: RedisReply?) -> RedisHandshakeStep
    func connectionBecameReady()
    /// Reports a failure, also that of an attempt. Commands in flight are settled afterwards.
    func connectionFailed(_ failure: RedisFailure)
}

/// One connection to a Redis server on one event loop. It is pipelined and bounded, and reconnects
/// forever.
///
/// Replies are matched to commands by their order alone. So whenever that order is in doubt - an
/// error, a time-out, bytes that are no reply - the socket is closed and every command in flight is
/// settled as ``RedisOutcome/unknown`` or ``RedisOutcome/unavailable``.
public final class RedisConnection: ReadinessHandler {
    private let loop: EventLoop
    /// The configuration that the next connection begins with.
    public var configuration: RedisConfiguration {
        didSet { commandNanoseconds = configuration.commandTimeout.wholeNanoseconds }
    }
    /// The time-out in nanoseconds, divided once because each command needs it.
    private var commandNanoseconds: UInt64
    private weak var owner: (any RedisConnectionOwner)?
    private var session: RedisSessionState
    private var pipeline = RedisPipeline<(RedisOutcome) -> Void>()
    private var reader: RedisReplyReader
    private var input = ByteBuffer()
    private var output = ByteBuffer()
    private var transport: Transport?
    private var dialer: RedisDialer?
    private let locator: (any RedisLocator)?
    private var attempt = 0
    /// The endpoint that it is connected to, or was last to be connected to.
    public private(set) var endpoint: RedisEndpoint?
    /// The callback for messages that a subscriber gets unasked. It is called with each message's
    /// array.
    public var onMessage: (([RedisReply]) -> Void)?
    /// The server that errors of the socket name.
    public private(set) var subject = ""
    /// The commands of the handshake that belong to the connection, not to its owner.
    private var openingSteps: [RedisOpeningStep] = []
    /// The number of sockets so far, by which code that called a handler notices that its socket is
    /// gone.
    private var generation: UInt64 = 0
    private var retireReason = RedisFailure.closed
    /// The connect and handshake deadline, or the wait before the next attempt.
    private var stageTimer: Timer?
    /// Fires no later than the oldest command's deadline while any command is in flight.
    private var deadlineTimer: Timer?
    /// Writes the bytes that one turn of the loop has queued.
    private let flushHook: TurnEndHook

    /// The reason why the connection was last lost or not made.
    public private(set) var lastFailure: RedisFailure?

    public init(
        loop: EventLoop, configuration: RedisConfiguration, owner: any RedisConnectionOwner,
        locator: (any RedisLocator)? = nil
    ) {
        self.loop = loop
        self.configuration = configuration
        commandNanoseconds = configuration.commandTimeout.wholeNanoseconds
        self.owner = owner
        self.locator = locator
        // Random, so that workers begin at different addresses.
        attempt = Int.random(in: 0..<configuration.endpoints.count)
        session = RedisSessionState(
            backOff: configuration.backOff, inFlightCountMax: configuration.inFlightCountMax)
        reader = RedisReplyReader(byteCountMax: configuration.replyByteCountMax)
        flushHook = TurnEndHook(loop: loop)
        stageTimer = Timer(loop: loop) { [unowned self] in stageTimerFired() }
        deadlineTimer = Timer(loop: loop) { [unowned self] in deadlineTimerFired() }
        flushHook.setBody { [unowned self] in flush() }
    }

    deinit {
        transport?.close(.cut)
        for (handler, outcome) in pipeline.takeAll() { handler(outcome) }
    }

    /// Starts to connect, and to connect again whenever the connection is lost.
    public func open() { perform(session.open()) }

    /// True if a command would be sent now.
    public var isReady: Bool { session.phase == .ready }

    /// True if the connection only awaits the replies to what was sent before.
    public var isRetiring: Bool { session.phase == .retiring }

    /// Sends a command. `reply` is called once, possibly before this returns: at once with
    /// `.unavailable` if the connection is not ready, and with `.full` if too many commands are in
    /// flight.
    public func send(_ command: RedisCommand, reply: @escaping (RedisOutcome) -> Void) {
        guard session.admits(inFlightCount: pipeline.count) else {
            reply(isReady ? .full : .unavailable)
            return
        }
        queue(command, timeoutNanoseconds: commandNanoseconds, reply: reply)
    }

    /// Accepts no more commands, awaits the replies to those in flight, then reconnects.
    public func retire(because reason: RedisFailure) {
        retireReason = reason
        perform(session.retire())
        dropIfDrained()
    }

    /// Closes the socket at once, settles the commands in flight, and reconnects.
    public func drop(because reason: RedisFailure) {
        lastFailure = reason
        perform(session.failed(jitter: loop.jitter))
    }

    /// Closes for good. Commands in flight are settled first.
    public func close() { perform(session.close()) }

    // MARK: actions

    private func perform(_ action: RedisSessionState.Action) {
        switch action {
        case .nothing: break
        case .connect: connect()
        case .beginHandshake: beginHandshake()
        case .announceReady:
            stageTimer?.cancel()
            // The timer still runs for the handshake's commands, which had more time.
            deadlineTimer?.cancel()
            owner?.connectionBecameReady()
        case .announceUnready: owner?.connectionFailed(retireReason)
        case .drop(let delay):
            stageTimer?.schedule(after: delay)
            closeSocket(because: lastFailure ?? .closed)
        case .finish:
            stageTimer?.cancel()
            closeSocket(because: .closed)
        }
    }

    private func closeSocket(because failure: RedisFailure) {
        generation += 1
        dialer = nil
        transport?.close(.cut)
        transport = nil
        reader = RedisReplyReader(byteCountMax: configuration.replyByteCountMax)
        input.release()
        output.release()
        deadlineTimer?.cancel()
        flushHook.cancel()
        let settled = pipeline.takeAll()
        owner?.connectionFailed(failure)
        for (handler, outcome) in settled { handler(outcome) }
    }

    // MARK: connecting

    private func connect() {
        stageTimer?.schedule(after: configuration.connectTimeout)
        attempt += 1
        guard let locator else {
            let endpoints = configuration.endpoints
            return dial(
                endpoints[attempt % endpoints.count], turn: attempt / endpoints.count)
        }
        let generation = generation
        locator.locate { [weak self] result in
            guard let self, generation == self.generation, session.phase == .connecting else {
                return
            }
            switch result {
            case .success(let endpoint): dial(endpoint, turn: attempt)
            case .failure(let failure): drop(because: failure)
            }
        }
    }

    private func dial(_ endpoint: RedisEndpoint, turn: Int) {
        self.endpoint = endpoint
        let dialer = RedisDialer(
            loop: loop, endpoint: endpoint, tls: configuration.tls, turn: turn
        ) { [unowned self] result in dialed(result) }
        self.dialer = dialer
        dialer.start()
    }

    private func dialed(_ result: Result<Transport, RedisFailure>) {
        subject = dialer?.subject ?? subject
        dialer = nil
        switch result {
        case .success(let transport):
            self.transport = transport
            transport.setHandler(self)
            perform(session.connected())
        case .failure(let failure): drop(because: failure)
        }
    }

    // MARK: the handshake

    private func beginHandshake() {
        stageTimer?.schedule(after: configuration.connectTimeout)
        transport?.enableReading()
        openingSteps = configuration.openingSteps.reversed()
        continueOpening()
    }

    private func continueOpening() {
        guard let step = openingSteps.popLast() else {
            continueHandshake(after: nil)
            return
        }
        queue(step.command, timeoutNanoseconds: connectNanoseconds) { [unowned self] outcome in
            guard case .reply(let reply) = outcome else { return }
            if reply == .simpleString("OK") || !step.isRequired {
                continueOpening()
            } else if case .error(let line) = reply {
                drop(because: .handshakeRefused("\(step.name): \(line.prefix(200))"))
            } else {
                drop(because: .protocolViolation(.unexpectedReply))
            }
        }
    }

    private func continueHandshake(after reply: RedisReply?) {
        switch owner?.handshakeStep(after: reply) {
        case .send(let command):
            queue(command, timeoutNanoseconds: connectNanoseconds) { [unowned self] outcome in
                if case .reply(let reply) = outcome { continueHandshake(after: reply) }
            }
        case .finished: perform(session.handshakeFinished())
        case .refused(let reason): drop(because: .handshakeRefused(reason))
        case nil: close()
        }
    }

    // MARK: writing

    private var connectNanoseconds: UInt64 { configuration.connectTimeout.wholeNanoseconds }

    private func queue(
        _ command: RedisCommand, timeoutNanoseconds: UInt64,
        reply: @escaping (RedisOutcome) -> Void
    ) {
        let heldByteCount = output.count
        command.write(to: &output)
        pipeline.queue(
            byteCount: output.count - heldByteCount,
            deadline: loop.now.advanced(byNanoseconds: timeoutNanoseconds).nanoseconds,
            handler: reply)
        if deadlineTimer?.isScheduled == false {
            deadlineTimer?.schedule(after: .nanoseconds(Int64(clamping: timeoutNanoseconds)))
        }
        flushHook.schedule()
    }

    private func flush() {
        guard let transport else { return }
        let generation = generation
        while !output.isEmpty, generation == self.generation {
            switch transport.write(output.readable) {
            case .bytes(let byteCount):
                output.consume(byteCount)
                pipeline.wrote(byteCount: byteCount)
            case .wouldBlock: return transport.enableWriting()
            case .failed(let error): return drop(because: failure(error, transport))
            }
        }
        transport.disableWriting()
    }

    public func descriptorIsWritable() { flush() }

    private func failure(_ errno: Int32, _ transport: Transport) -> RedisFailure {
        errno == 0
            ? .tls(subject, transport.failureText(errno: 0))
            : .unreachable(IOError(subject, errno: errno))
    }

    // MARK: reading

    /// The most bytes that are read from the socket at once: a few hundred replies of the counter
    /// script.
    private static let readByteCount = 16 * 1024

    public func descriptorIsReadable() {
        guard let transport else { return }
        let generation = generation
        while generation == self.generation {
            switch transport.read(into: &input, atMost: Self.readByteCount) {
            case .bytes(let byteCount):
                takeReplies()
                if byteCount < Self.readByteCount { return }
            case .wouldBlock: return
            case .endOfFile: drop(because: .endedByServer)
            case .failed(let error): drop(because: failure(error, transport))
            }
        }
    }

    private func takeReplies() {
        let generation = generation
        do throws(RedisProtocolError) {
            try reader.feed(input.readable)
            input.clear()
            while let reply = try reader.next() {
                if let onMessage, case .array(let parts) = reply,
                    parts.first?.text == "message"
                {
                    onMessage(parts)
                    guard generation == self.generation else { return }
                    continue
                }
                guard let handler = pipeline.takeAnswered() else { throw .unexpectedReply }
                handler(.reply(reply))
                guard generation == self.generation else { return }
            }
        } catch {
            drop(because: .protocolViolation(error))
        }
        dropIfDrained()
    }

    private func dropIfDrained() {
        if session.phase == .retiring, pipeline.isEmpty { drop(because: retireReason) }
    }

    // MARK: time

    private func stageTimerFired() {
        if session.phase == .waiting {
            perform(session.backOffEnded())
        } else {
            drop(because: .connectTimedOut)
        }
    }

    private func deadlineTimerFired() {
        guard let deadline = pipeline.oldestDeadline else { return }
        let now = loop.now.nanoseconds
        guard deadline > now else {
            // A handshake has one time limit for all its commands, which ends at the same moment.
            drop(because: session.phase == .handshaking ? .connectTimedOut : .commandTimedOut)
            return
        }
        deadlineTimer?.schedule(after: .nanoseconds(Int64(deadline - now)))
    }
}
