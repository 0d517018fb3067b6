import CPostgres
import EventLoop

/// The owner of a ``PostgresConnection``, which is told what happens to it.
protocol PostgresConnectionOwner: AnyObject {
    func connectionOpened()
    /// The connection is closed and asks for nothing more.
    func connectionFailed(_ failure: PostgresFailure)
    func connectionWasNotified()
}

/// One libpq connection to one address on one event loop, in pipeline mode: one run of requests at
/// a time, answered as a whole. libpq never blocks here: it gets numeric addresses only.
@safe
final class PostgresConnection: ReadinessHandler {
    private enum Stage {
        case connecting
        case open
        case closed
    }

    private struct Run {
        let requestCount: Int
        var outcomes: [PostgresOutcome] = []
        /// The outcome of the present request, until its end arrives.
        var current: PostgresOutcome?
        /// True after the end of a request. Two ends without a result between them belong to no
        /// request.
        var hasEnded = false
        /// The server's warning during the present request.
        var warning: PostgresServerError?
        let completion: (Result<[PostgresOutcome], PostgresFailure>) -> Void
    }

    private let loop: EventLoop
    private weak var owner: (any PostgresConnectionOwner)?
    private var handle: OpaquePointer?
    private var watch: Watch?
    private var stage = Stage.connecting
    private var run: Run?

    /// Begins to connect. The owner is told the outcome, never before this returns.
    init(
        loop: EventLoop, configuration: PostgresConfiguration, target: PostgresTarget,
        owner: any PostgresConnectionOwner
    ) {
        self.loop = loop
        self.owner = owner
        unsafe handle = startConnection(configuration.keywords(for: target))
    }

    deinit { close(settlingWith: .closed) }

    /// Takes the first step; to be called once.
    func begin() {
        guard let handle = unsafe handle, unsafe PQstatus(handle) != CONNECTION_BAD else {
            return fail(connectionFailure())
        }
        unsafe PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe PQsetNoticeReceiver(handle, noticeArrived, context)
        // libpq: "behave as if PQconnectPoll had last returned PGRES_POLLING_WRITING".
        wait(reading: false)
    }

    /// The protocol and cipher of TLS; nil without TLS.
    var tlsDescription: String? {
        guard let handle = unsafe handle, unsafe PQsslInUse(handle) == 1 else { return nil }
        return unsafe attribute("protocol", of: handle) + " " + attribute("cipher", of: handle)
    }

    // MARK: connecting

    private func poll() {
        guard let handle = unsafe handle else { return }
        // libpq may close its socket in this call and open another.
        watch?.cancel()
        watch = nil
        switch unsafe PQconnectPoll(handle) {
        case PGRES_POLLING_READING: wait(reading: true)
        case PGRES_POLLING_WRITING: wait(reading: false)
        case PGRES_POLLING_OK:
            guard unsafe PQsetnonblocking(handle, 1) == 0, unsafe PQenterPipelineMode(handle) == 1
            else { return fail(connectionFailure()) }
            unsafe PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
            stage = .open
            wait(reading: true)
            owner?.connectionOpened()
        default: fail(connectionFailure())
        }
    }

    private func wait(reading: Bool) {
        guard let handle = unsafe handle else { return }
        let descriptor = unsafe PQsocket(handle)
        guard descriptor >= 0 else { return fail(connectionFailure()) }
        let watch = Watch(loop: loop, descriptor: descriptor, handler: self)
        if reading { watch.enableReading() } else { watch.enableWriting() }
        self.watch = watch
    }

    private func connectionFailure() -> PostgresFailure {
        guard let handle = unsafe handle else { return .unreachable("out of memory") }
        return PostgresFailure(connecting: unsafe String(cString: PQerrorMessage(handle)))
    }

    // MARK: running

    /// Sends all requests and asks for all answers. If one fails, those behind it are skipped. One
    /// run at a time. `completion` is called once, never before this returns unless the connection
    /// fails in it.
    func run(
        _ requests: [PostgresRequest],
        completion: @escaping (Result<[PostgresOutcome], PostgresFailure>) -> Void
    ) {
        precondition(run == nil, "a connection does one thing at a time")
        guard let handle = unsafe handle, stage == .open else {
            return completion(.failure(.closed))
        }
        run = Run(requestCount: requests.count, completion: completion)
        for request in requests where !(unsafe send(request, on: handle)) { return failRunning() }
        guard unsafe PQpipelineSync(handle) == 1 else { return failRunning() }
        flush()
    }

    private func flush() {
        guard let handle = unsafe handle else { return }
        switch unsafe PQflush(handle) {
        case 0: watch?.disableWriting()
        case 1: watch?.enableWriting()
        default: failRunning()
        }
    }

    func descriptorIsReadable() {
        guard stage == .open else { return poll() }
        receive()
    }

    func descriptorIsWritable() {
        guard stage == .open else { return poll() }
        flush()
    }

    private func receive() {
        guard let handle = unsafe handle else { return }
        // With TLS only a part of a record may have been read, and the socket does not report the
        // rest.
        for _ in 0..<(unsafe PQsslInUse(handle) == 1 ? 2 : 1) {
            guard unsafe PQconsumeInput(handle) == 1 else {
                takeResults()
                return failRunning()
            }
        }
        takeNotifications()
        takeResults()
        if unsafe self.handle != nil, watch?.isWriting == true { flush() }
    }

    private func takeNotifications() {
        guard let handle = unsafe handle else { return }
        var wasNotified = false
        while let notification = unsafe PQnotifies(handle) {
            unsafe PQfreemem(notification)
            wasNotified = true
        }
        if wasNotified { owner?.connectionWasNotified() }
    }

    /// Takes the results that have come for the present run: for each request its results and a
    /// nil, and at last the mark of the synchronisation.
    private func takeResults() {
        while let handle = unsafe handle, run != nil, unsafe PQisBusy(handle) == 0 {
            guard let result = unsafe PQgetResult(handle) else {
                guard endRequest() else { return failRunning() }
                continue
            }
            let outcome = unsafe read(result)
            let isSynchronisation = unsafe PQresultStatus(result) == PGRES_PIPELINE_SYNC
            unsafe PQclear(result)
            if isSynchronisation { return finishRun() }
            run?.current = outcome
            run?.hasEnded = false
        }
    }

    /// Ends a request. False if more answers come than were asked for.
    private func endRequest() -> Bool {
        guard let outcome = run?.current else {
            let isFirst = run?.hasEnded == false
            run?.hasEnded = true
            return isFirst
        }
        let confirmed = confirmed(outcome)
        run?.outcomes.append(confirmed)
        run?.current = nil
        run?.warning = nil
        return run.map { $0.outcomes.count <= $0.requestCount } ?? false
    }

    /// A commit that comes with a warning counts as refused: its wait for a standby was cancelled
    /// ("canceling wait for synchronous replication"), and a failover may lose it.
    private func confirmed(_ outcome: PostgresOutcome) -> PostgresOutcome {
        guard case .done(_, "COMMIT") = outcome, let warning = run?.warning else { return outcome }
        return .failed(warning)
    }

    fileprivate func serverWarned(_ warning: PostgresServerError) { run?.warning = warning }

    private func finishRun() {
        guard let finished = run else { return }
        run = nil
        guard finished.outcomes.count == finished.requestCount else {
            finished.completion(.failure(.protocolViolation))
            return fail(.protocolViolation)
        }
        finished.completion(.success(finished.outcomes))
    }

    // MARK: failing

    private func failRunning() {
        guard let handle = unsafe handle else { return }
        var text = plainText(unsafe String(cString: PQerrorMessage(handle)))
        if case .failed(let error)? = run?.current ?? run?.outcomes.last {
            text = error.description
        }
        fail(.lost(text.isEmpty ? "closed by the server" : text))
    }

    var isClosed: Bool { stage == .closed }

    private func fail(_ failure: PostgresFailure) {
        guard stage != .closed else { return }
        close(settlingWith: failure)
        owner?.connectionFailed(failure)
    }

    /// Closes at once, without telling the owner.
    func close(settlingWith failure: PostgresFailure) {
        guard stage != .closed else { return }
        stage = .closed
        watch?.cancel()
        watch = nil
        if let handle = unsafe handle { unsafe PQfinish(handle) }
        unsafe handle = nil
        let unfinished = run
        run = nil
        unfinished?.completion(.failure(failure))
    }
}

/// Called by libpq for each notice, on the connection's thread.
private func noticeArrived(_ context: UnsafeMutableRawPointer?, _ notice: OpaquePointer?) {
    guard let context = unsafe context, let notice = unsafe notice,
        let warning = unsafe warning(notice)
    else { return }
    unsafe Unmanaged<PostgresConnection>.fromOpaque(context).takeUnretainedValue()
        .serverWarned(warning)
}
