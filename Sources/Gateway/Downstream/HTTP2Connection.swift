import Bytes
import EventLoop
import HTTP
import HTTP2
import Judgement
import Settings
import TLS

/// One client's HTTP/2 connection: the socket around an ``HTTP2Session``, and an ``HTTP2Stream``
/// for each request under way. Only its worker's thread touches it.
///
/// Frames are written at the end of a turn, so that the answers of one turn share a write, and that
/// an exchange that is called in a loop over the session cannot change the session meanwhile.
final class HTTP2Connection: ReadinessHandler, DeadlineHandler {
    enum State {
        case open
        /// The client has been told that the end is near; its PING answer is awaited.
        case announced
        /// New streams are refused; those under way are served.
        case refusing
        /// Our side is shut. Bytes that still come are thrown away (RFC 9112 section 9.6).
        case lingering
        case closed
    }

    /// The wait that the connection's deadline ends.
    private enum Wait: Equatable {
        case nothing, idle, send
        /// The wait for the rest of this header block; for the first, from the very beginning.
        case head(Int)
    }

    let worker: Worker
    let services: WorkerServices
    private(set) var listener: ListenerContext
    let peer: SocketAddress
    let peerText: String
    private var isPeerTrusted: Bool
    var slot = 0
    /// The connection's place in the quota of its address.
    var quotaPlace: QuotaPlace?
    var proxy: SocketAddress?

    /// The transport, or nil once it is closed.
    private(set) var transport: Transport?
    let session: HTTP2Session
    private var streams = StreamTable<any ClientStream>()
    /// The streams whose upstreams wait for the client.
    private var pausedStreams: [Int32] = []
    var state = State.open
    private var wait = Wait.nothing
    /// The pace of a client that takes no more for now.
    private var readerPace = ReaderPace()
    private let deadline: Deadline
    /// The wait for the acknowledgement of SETTINGS, later for the PING of an announced end.
    private var answerDue: DelayedCall?
    private let turnEnd: TurnEndHook
    private var requestCount = 0
    private var lingering = Lingering()
    private var isFaultTold = false
    private var hasClientEnded = false

    init(worker: Worker, transport: Transport, peer: SocketAddress, listener: ListenerContext) {
        self.worker = worker
        services = worker.services
        self.transport = transport
        self.peer = peer
        self.listener = listener
        deadline = Deadline(wheel: services.deadlines)
        turnEnd = TurnEndHook(loop: services.loop)
        peerText = peer.isUnix ? "unix" : peer.ipText
        isPeerTrusted = listener.trusts(peer)
        let limits = services.site.settings.limits
        session = HTTP2Session(
            limits: limits.http2,
            fieldSection: FieldSectionLimits(byteCountMax: limits.headByteCountMax),
            storage: services.storage, supply: worker.streams, now: services.loop.now.nanoseconds)
        session.countsResets = !listener.answers(peer)
    }

    /// Begins with the bytes of the connection that were already read.
    func start(with bytes: Span<UInt8> = Span()) {
        turnEnd.setBody { [unowned self] in flush() }
        deadline.handler = self
        let due = DelayedCall(wheel: services.deadlines) { [unowned self] in answerIsOverdue() }
        due.set(afterNanoseconds: services.site.timeouts.settings)
        answerDue = due
        transport?.setHandler(self)
        transport?.enableReading()
        session.receive(bytes, now: services.loop.now.nanoseconds)
        handleEvents()
    }

    // MARK: reading

    func descriptorIsReadable() {
        guard let transport else { return }
        guard state != .lingering else {
            if lingering.isOver(transport, storage: services.storage) { close() }
            return
        }
        guard transport.isReading else {
            if transport.isGone { lose() }
            return
        }
        var input = ByteBuffer(pool: services.storage)
        switch transport.read(into: &input, atMost: HTTP1Connection.readByteCount) {
        case .bytes:
            services.backlog.enter(transport, isNew: requestCount == 0, of: services)
            session.receive(input.readable, now: services.loop.now.nanoseconds)
            handleEvents()
            services.backlog.leave()
        case .wouldBlock: break
        case .endOfFile: clientEnded()
        case .failed: lose(after: transport, services, peerText)
        }
    }

    private func clientEnded() {
        hasClientEnded = true
        transport?.watchChanges()
        for stream in streams.streams { stream.clientEnded() }
        scheduleFlush()
    }

    private func handleEvents() {
        takeEvents()
        scheduleFlush()
    }

    private func takeEvents() {
        while let event = session.takeEvent() {
            switch event {
            case .head(let head): begin(head)
            case .body(let id, let byteCount):
                let stream = streams[id]
                let refusal = session.takeBody(stream: id, byteCount: byteCount) { bytes in
                    stream?.receive(bytes) ?? (nil, false)
                }
                stream?.bodyWasTaken(refusal)
            case .trailers(let id, let bytes, let isTooLarge):
                streams[id]?.receiveTrailers(bytes, isTooLarge: isTooLarge)
            case .end(let id): streams[id]?.endBody()
            case .answeredEarly(let id): streams[id]?.answeredEarly()
            case .closed(let id, _): streams.remove(id)?.close()
            case .malformed:
                // Its stream is reset by now.
                requestCount += 1
                recordFault(Refusal(.badRequest, .http2Malformed))
            // These events come only from servers.
            case .failed, .ready, .goAway: break
            case .settingsAcknowledged: if state == .open { answerDue = nil }
            case .pingAcknowledged:
                if state == .announced { refuseNewStreams() }
            }
        }
        tellFault()
    }

    private func tellFault() {
        guard let fault = session.fault, !isFaultTold else { return }
        isFaultTold = true
        services.log.repeatedEvent("http2_fault", "\(fault.rawValue) by \(peerText)")
    }

    private func begin(_ head: HeadEvent) {
        requestCount += 1
        if requestCount >= services.site.settings.limits.requestsPerConnectionMax { announceEnd() }
        if listener.takesEnvoyCalls, let call = EnvoyCall(head, on: self) {
            streams.add(call, head.stream)
            return call.begin()
        }
        let exchange = beginExchange()
        let stream = HTTP2Stream(id: head.stream, connection: self, exchange: exchange)
        exchange.downstream = stream
        streams.add(stream, head.stream)
        // The client has reset the stream at once, so nothing is done for it (CVE-2023-44487).
        if session.isOpen(head.stream) { stream.begin(head, exchange) }
    }

    /// Counts and logs a message that is no request, and was answered or reset as such.
    func recordFault(_ refusal: Refusal) {
        let exchange = beginExchange()
        exchange.intake.refuseHead(refusal)
        worker.giveBack(exchange)
    }

    func beginExchange() -> Exchange {
        services.meter.add(.requests)
        let exchange = worker.takeExchange()
        exchange.begin(on: nil, listener: listener, peer: peer, isPeerTrusted: isPeerTrusted)
        exchange.arrival.isHTTP2 = true
        exchange.client.session = transport?.session
        return exchange
    }

    // MARK: writing

    /// Has the submitted frames written when the turn ends.
    func scheduleFlush() { if state != .closed { turnEnd.schedule() } }

    func descriptorIsWritable() { flush() }

    private func flush() {
        guard state != .closed, state != .lingering else { return }
        let isBlocked = !write()
        guard state != .closed else { return }
        // The library may just have found and reported one.
        tellFault()
        if !isBlocked {
            transport?.disableWriting()
            if session.isFinished { return finish() }
        }
        resumeStreams()
        if session.waitingByteCount > 0 { streams.forEach { $0.clientIsAwaited() } }
        // A stream whose answer has been sent completely is closed.
        takeEvents()
        // A stream is closed once its last frame is made, but the socket may not have taken it yet.
        if hasClientEnded, streams.isEmpty, !isBlocked { return close() }
        if streams.isEmpty { session.releaseStorage() }
        updateDeadline(isBlocked: isBlocked)
    }

    /// Writes frames. False if the socket takes no more for now.
    private func write() -> Bool {
        guard let transport else { return true }
        switch session.write(to: transport, atMost: HTTP2Endpoint.writeByteCount) {
        case .all(let byteCount):
            readerPace.wrote(byteCount)
            return true
        case .blocked(let byteCount):
            readerPace.wrote(byteCount)
            // Progress: the time for the next byte starts anew.
            if byteCount > 0, wait == .send { wait = .nothing }
            transport.enableWriting()
        case .broken: lose()
        }
        return false
    }

    /// Resumes the upstreams of streams whose clients have taken the waiting bytes.
    private func resumeStreams() {
        guard !pausedStreams.isEmpty else { return }
        let paused = pausedStreams
        pausedStreams.removeAll(keepingCapacity: true)
        for id in paused {
            guard let stream = streams[id] else { continue }
            if mayResume(id) { stream.clientIsReady() } else { pausedStreams.append(id) }
        }
    }

    private func mayResume(_ id: Int32) -> Bool {
        session.waitingByteCount <= responseBufferByteCountMax / 2
            || session.waitingByteCount(stream: id) == 0
    }

    /// The number of bytes of its answer that a stream takes now: the room of the connection, and a
    /// piece if nothing waits on the stream, so that streams that the client does not read do not
    /// hold up others. If it is 0, the stream is told later when there is room.
    func room(for id: Int32) -> Int {
        let rest = responseBufferByteCountMax - session.waitingByteCount
        if rest >= Self.pieceByteCount { return rest }
        if session.waitingByteCount(stream: id) == 0 { return Self.pieceByteCount }
        if !pausedStreams.contains(id) { pausedStreams.append(id) }
        return 0
    }

    private var responseBufferByteCountMax: Int {
        services.site.settings.limits.responseBufferByteCountMax
    }

    // MARK: ending

    /// Sets the one deadline of the whole connection; streams have their own.
    private func updateDeadline(isBlocked: Bool) {
        let next = nextWait(isBlocked: isBlocked)
        if !isBlocked { readerPace.end() }
        guard next != wait, state != .closed else { return }
        wait = next
        let timeouts = services.site.timeouts
        switch next {
        case .nothing: deadline.clear()
        case .head: deadline.set(afterNanoseconds: timeouts.requestHead)
        case .idle: deadline.set(afterNanoseconds: timeouts.idle)
        case .send: awaitClient()
        }
    }

    private func nextWait(isBlocked: Bool) -> Wait {
        if isBlocked { return .send }
        if requestCount == 0 { return .head(1) }
        if session.isInHeaderBlock { return .head(session.headerBlockCount) }
        return streams.isEmpty ? .idle : .nothing
    }

    private func awaitClient(isDue: Bool = false) {
        guard let transport else { return }
        let (site, now, queued) = (services.site, services.loop.now, transport.queuedByteCount)
        if !readerPace.isRunning { readerPace.begin(now: now, queued: queued) }
        let rest = readerPace.rest(
            site.responsePace, send: site.timeouts.send, now: now, queued: queued, isDue: isDue)
        if rest > 0 { deadline.set(at: readerPace.due) } else { lose() }
    }

    func deadlineExpired() {
        switch (state, wait) {
        case (.lingering, _): close()
        case (_, .send): awaitClient(isDue: true)
        case (_, .head) where session.isInHeaderBlock: lose()
        case (_, .head), (_, .idle): refuseNewStreams()
        case (_, .nothing): break
        }
    }

    private func answerIsOverdue() {
        if state == .announced {
            refuseNewStreams()
        } else {
            session.end(.settingsTimeout)
            scheduleFlush()
        }
    }

    /// Begins an end that loses no request: announces it first, and refuses streams only once the
    /// client must know (RFC 9113 section 6.8).
    private func announceEnd() {
        guard state == .open else { return }
        state = .announced
        session.announceEnd()
        let due = DelayedCall(wheel: services.deadlines) { [unowned self] in answerIsOverdue() }
        due.set(afterNanoseconds: Self.announcementNanoseconds)
        answerDue = due
        scheduleFlush()
    }

    private func refuseNewStreams() {
        guard state == .open || state == .announced else { return }
        state = .refusing
        answerDue = nil
        session.refuseNewStreams()
        scheduleFlush()
    }

    /// Shuts our side after the last frame, and waits briefly for the client to do the same, so
    /// that it can read the GOAWAY before it sees a reset.
    private func finish() {
        loseStreams()
        state = .lingering
        transport?.enableReading()
        transport?.shutdownWrite()
        deadline.set(at: services.loop.now + Lingering.timeout)
    }

    private func loseStreams() {
        let lost = streams.streams
        streams.removeAll()
        for stream in lost { stream.close() }
    }

    private func close(_ ending: Transport.Ending = .complete) {
        guard state != .closed else { return }
        state = .closed
        turnEnd.cancel()
        transport?.close(ending)
        transport = nil
        deadline.clear()
        answerDue = nil
        worker.remove(self)
    }

    /// The most bytes that a stream may have waiting beyond those that the connection may hold.
    private static let pieceByteCount = 4 * 1024
    /// The longest wait for the answer to a PING, which takes a client a round trip.
    static let announcementNanoseconds: UInt64 = 1_000_000_000
}

extension HTTP2Connection: ClientConnection {
    func follow(_ change: ListenerChange) {
        listener = change.context
        isPeerTrusted = listener.trusts(peer)
        session.countsResets = !listener.answers(peer)
        switch change.ending(saidBy: proxy) {
        case .none: break
        case .gently: announceEnd()
        case .atOnce: refuseNewStreams()
        }
    }

    func drain() {
        // The kernel may hold a request already.
        if state == .open { descriptorIsReadable() }
        announceEnd()
    }

    func lose() {
        guard state != .closed else { return }
        close(.cut)
        loseStreams()
    }
}
