public import EventLoop

/// The next step while a session opens.
public enum PostgresOpeningStep: Sendable {
    case run([PostgresRequest])
    /// Requests that may take minutes, such as bringing large tables up to date: bounded by
    /// ``PostgresSession/longRunTimeout``, not by ``PostgresConfiguration/commandTimeout`` or
    /// `connectTimeout`.
    case runLong([PostgresRequest])
    case finished
    /// The server cannot be used, for the reason given to the operator. `isPermanent`: no later
    /// attempt will do better.
    case refused(String, isPermanent: Bool)
}

/// The owner of a session, which leads its opening and is told when it may be used.
public protocol PostgresSessionOwner: AnyObject {
    /// The next step, after the connection is made (`outcomes` is nil) or the last one is answered.
    func openingStep(
        of session: PostgresSession, after outcomes: [PostgresOutcome]?
    ) -> PostgresOpeningStep
    func sessionBecameReady(_ session: PostgresSession)
    /// Reports a failure. It is also called for an attempt that failed, once for each round of all
    /// addresses.
    func sessionFailed(_ session: PostgresSession, _ failure: PostgresFailure)
    /// A notification has come. Its content is to be read from the tables.
    func sessionWasNotified(_ session: PostgresSession)
}

/// A connection to one of several servers on one event loop, which reconnects forever.
///
/// Each round resolves the names (on a thread of its own) and tries every address once, in order;
/// a round that fails is repeated after a wait that grows.
public final class PostgresSession {
    private enum Phase {
        case idle
        case lookingUp
        case connecting
        case opening
        case ready
        case waiting
        case closed
    }

    private let loop: EventLoop
    private let configuration: PostgresConfiguration
    private weak var owner: (any PostgresSessionOwner)?
    private var phase = Phase.idle
    private var targets: [PostgresTarget] = []
    private var target: PostgresTarget?
    private var preferred: PostgresConfiguration.Host?
    private var lookup: BlockingCall<Result<[PostgresTarget], IOError>>?
    private var connection: PostgresConnection?
    private var stageTimer: Timer?
    private var runTimer: Timer?
    private let backOff = BackOff()

    /// The number of rounds that failed since the session was last ready.
    public private(set) var failureCount = 0
    /// The reason why it was last lost or not made; a permanent reason is not replaced by a later
    /// one.
    public private(set) var lastFailure: PostgresFailure?
    /// True if the last opening was refused for good.
    public private(set) var isRefusedForGood = false
    /// True while a run is under way.
    public private(set) var isBusy = false

    public init(
        loop: EventLoop, configuration: PostgresConfiguration, owner: any PostgresSessionOwner
    ) {
        self.loop = loop
        self.configuration = configuration
        self.owner = owner
        stageTimer = Timer(loop: loop) { [weak self] in self?.stageTimerFired() }
        runTimer = Timer(loop: loop) { [weak self] in self?.fail(.runTimedOut) }
    }

    deinit { connection?.close(settlingWith: .closed) }

    /// Starts to connect, and to connect again whenever the connection is lost.
    public func open() {
        guard phase == .idle else { return }
        beginRound()
    }

    /// Closes the session for good. A run in progress is settled as failed.
    public func close() {
        phase = .closed
        dropConnection(because: .closed)
        stageTimer?.cancel()
        lookup = nil
    }

    /// False at once when the connection is lost, before the session hears of it.
    public var isReady: Bool { phase == .ready && connection?.isClosed == false }
    public var canRun: Bool { isReady && !isBusy }

    /// The server in use, or tried last, by its configured name.
    public var host: PostgresConfiguration.Host? {
        target.map { PostgresConfiguration.Host(name: $0.host, port: $0.port) }
    }

    /// The address in use, for the operator.
    public var address: String {
        guard let target else { return "" }
        guard let address = target.address else { return target.host }
        let port = target.port
        return address == target.host ? "\(address):\(port)" : "\(target.host) (\(address)):\(port)"
    }

    /// Protocol and cipher; nil without TLS.
    public var tlsDescription: String? { connection?.tlsDescription }

    /// Runs requests that are answered as a whole; see ``PostgresOutcome``. Call it only while
    /// ``canRun``.
    public func run(
        _ requests: [PostgresRequest],
        completion: @escaping (Result<[PostgresOutcome], PostgresFailure>) -> Void
    ) {
        guard canRun, let connection else { return completion(.failure(lastFailure ?? .closed)) }
        start(requests, on: connection) { [weak self] result in
            if case .success(let outcomes) = result { self?.dropIfUnfit(outcomes) }
            completion(result)
        }
    }

    /// Closes the connection at once and reconnects.
    public func drop(because failure: PostgresFailure) { fail(failure) }

    /// Begins each round with this server from now on. A session that is not ready begins a round
    /// at once, unless this server is just opening it, because another server may never answer.
    public func prefer(_ host: PostgresConfiguration.Host) {
        preferred = host
        switch phase {
        case .opening where self.host == host: break
        case .waiting, .lookingUp, .connecting, .opening:
            lookup = nil
            targets = []
            dropConnection(because: .closed)
            beginRound()
        case .idle, .ready, .closed: break
        }
    }

    private func start(
        _ requests: [PostgresRequest], on connection: PostgresConnection,
        within timeout: Duration? = nil,
        completion: @escaping (Result<[PostgresOutcome], PostgresFailure>) -> Void
    ) {
        isBusy = true
        runTimer?.schedule(after: (timeout ?? configuration.commandTimeout) + Self.graceTime)
        connection.run(requests) { [weak self] result in
            self?.isBusy = false
            self?.runTimer?.cancel()
            completion(result)
        }
    }

    /// The bound of ``PostgresOpeningStep/runLong(_:)``: a server that never answers must not be
    /// awaited for ever, and an index of a hundred million rows takes less time.
    public static let longRunTimeout = Duration.seconds(3600)

    /// The time in which the server's own end of a statement may arrive before ours.
    private static let graceTime = Duration.milliseconds(500)

    private func dropIfUnfit(_ outcomes: [PostgresOutcome]) {
        for case .failed(let error) in outcomes where error.callsForReconnecting {
            return fail(.refusedByServer(error))
        }
    }

    // MARK: connecting

    private func beginRound() {
        phase = .lookingUp
        isRefusedForGood = false
        let configuration = configuration
        stageTimer?.schedule(after: configuration.connectTimeout)
        do throws(IOError) {
            lookup = try BlockingCall(name: "pg-lookup", loop: loop) {
                Self.targets(of: configuration)
            } handler: { [weak self] result in
                self?.lookup = nil
                switch result {
                case .success(let targets):
                    self?.begin(with: targets)
                case .failure(let error): self?.fail(.unresolved(error))
                }
            }
        } catch {
            fail(.unresolved(error))
        }
    }

    /// Blocks. A host that does not resolve is left out if another one does.
    private static func targets(
        of configuration: PostgresConfiguration
    ) -> Result<[PostgresTarget], IOError> {
        var targets: [PostgresTarget] = []
        var failure: IOError?
        do throws(IOError) {
            let password = try password(of: configuration)
            for host in configuration.hosts {
                guard !host.isUnix else {
                    targets.append(
                        PostgresTarget(host: host.name, port: host.port, password: password))
                    continue
                }
                do throws(IOError) {
                    let found = try SocketAddress.resolve(host: host.name, port: host.port)
                    targets += found.map {
                        PostgresTarget(
                            host: host.name, address: $0.ipText, port: host.port,
                            password: password)
                    }
                } catch {
                    failure = error
                }
            }
        } catch {
            return .failure(error)
        }
        if targets.isEmpty, let failure { return .failure(failure) }
        return .success(targets)
    }

    private static func password(
        of configuration: PostgresConfiguration
    ) throws(IOError) -> String? {
        guard let path = configuration.passwordFile else { return configuration.password }
        let bytes = try File.read(path, byteCountMax: 4096)
        // Editors end a file with a line feed; passwords do not.
        let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
        return String(decoding: line, as: UTF8.self)
    }

    private func begin(with found: [PostgresTarget]) {
        let isFirst = { [preferred] (target: PostgresTarget) in
            target.host == preferred?.name && target.port == preferred?.port
        }
        targets = found.filter(isFirst) + found.filter { !isFirst($0) }
        connectNext()
    }

    private func connectNext() {
        guard phase != .closed, let next = targets.first else { return }
        targets.removeFirst()
        target = next
        phase = .connecting
        stageTimer?.schedule(after: configuration.connectTimeout)
        let connection = PostgresConnection(
            loop: loop, configuration: configuration, target: next, owner: self)
        self.connection = connection
        connection.begin()
    }

    private func stageTimerFired() {
        switch phase {
        case .waiting: beginRound()
        case .lookingUp, .connecting, .opening: fail(.connectTimedOut)
        case .idle, .ready, .closed: break
        }
    }

    private func continueOpening(after outcomes: [PostgresOutcome]?) {
        guard phase == .opening, let owner, let connection else { return }
        switch owner.openingStep(of: self, after: outcomes) {
        case .run(let requests):
            start(requests, on: connection) { [weak self] result in
                // A failure is told to the owner separately.
                if case .success(let outcomes) = result { self?.continueOpening(after: outcomes) }
            }
        case .runLong(let requests):
            stageTimer?.cancel()
            start(requests, on: connection, within: Self.longRunTimeout) { [weak self] result in
                guard let self, case .success(let outcomes) = result else { return }
                stageTimer?.schedule(after: configuration.connectTimeout)
                continueOpening(after: outcomes)
            }
        case .finished:
            stageTimer?.cancel()
            phase = .ready
            failureCount = 0
            lastFailure = nil
            isRefusedForGood = false
            owner.sessionBecameReady(self)
        case .refused(let reason, let isPermanent):
            fail(.unfit(reason), isPermanent: isPermanent)
        }
    }

    private func fail(_ failure: PostgresFailure, isPermanent: Bool = false) {
        guard phase != .closed, phase != .waiting, phase != .idle else { return }
        lookup = nil
        let wasReady = phase == .ready
        if wasReady {
            targets = []
            lastFailure = nil
        }
        if isPermanent || failure.isPermanent {
            isRefusedForGood = true
            lastFailure = failure
        } else if !isRefusedForGood || lastFailure == nil {
            lastFailure = failure
        }
        phase = .connecting
        dropConnection(because: failure)
        // Settling the run may have closed the session.
        guard phase != .closed else { return }
        if !targets.isEmpty { return connectNext() }
        failureCount += 1
        phase = .waiting
        // A session that was ready is made again almost at once.
        stageTimer?.schedule(
            after: backOff.delay(failureCount: failureCount, jitter: Double.random(in: 0...1)))
        owner?.sessionFailed(self, lastFailure ?? failure)
    }

    private func dropConnection(because failure: PostgresFailure) {
        runTimer?.cancel()
        let dropped = connection
        connection = nil
        isBusy = false
        dropped?.close(settlingWith: failure)
    }
}

extension PostgresSession: PostgresConnectionOwner {
    func connectionOpened() {
        guard phase == .connecting else { return }
        phase = .opening
        continueOpening(after: nil)
    }

    func connectionFailed(_ failure: PostgresFailure) { fail(failure) }

    func connectionWasNotified() { owner?.sessionWasNotified(self) }
}
