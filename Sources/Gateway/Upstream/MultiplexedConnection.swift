import Bytes
import EventLoop
import HTTP
import HTTP2
import Judgement
import Settings
import TLS

/// One HTTP/2 connection to an upstream server, shared by the exchanges of its worker: the socket
/// around an ``HTTP2ClientSession``, with an ``UpstreamStream`` for each request.
///
/// Submitted frames are written at the end of a turn, so that the requests of one turn share a
/// write.
final class MultiplexedConnection: ReadinessHandler, DeadlineHandler {
    enum State {
        /// Lasts until the server's SETTINGS: before that it is not known that it speaks HTTP/2,
        /// nor how many requests it accepts. A request that waits here has not been sent.
        case connecting
        case open
        /// Serves the requests under way and takes no more.
        case ending
        case closed
    }

    /// The wait that the connection's deadline ends.
    private enum Wait {
        case nothing, settings, send, idle, quiet, pong
    }

    let pool: UpstreamPool
    let server: PooledServer
    let session: HTTP2ClientSession
    /// True if it was made for one health check.
    let isForCheck: Bool
    private(set) var state = State.connecting
    private var dial: UpstreamDial?
    private var transport: Transport?
    /// The session to be kept once it can be resumed.
    private var tlsSession: TLSSession?
    private let deadline: Deadline
    private var wait = Wait.nothing
    private let turnEnd: TurnEndHook
    private var streams = StreamTable<UpstreamStream>()
    /// Streams whose requests wait for SETTINGS. They have their places.
    private var waiting: [UpstreamStream] = []
    /// Streams whose bodies have not been handed over completely.
    private var sending: [UpstreamStream] = []
    /// Streams whose clients are to be told when a turn's bytes are handed over.
    private var relaying: [UpstreamStream] = []
    /// The number of requests that have a place here, sent or not.
    private(set) var leaseCount = 0
    private var requestCount = 0
    private var connectFailure: UpstreamFailure?
    private var isBegun = false
    /// True if the server was heard since the deadline was set.
    private var wasHeard = false

    init(pool: UpstreamPool, server: PooledServer, isForCheck: Bool = false) {
        self.pool = pool
        self.server = server
        self.isForCheck = isForCheck
        session = HTTP2ClientSession(
            limits: pool.settings.http2,
            fieldSection: FieldSectionLimits(
                byteCountMax: pool.responseHeadLimits.headByteCountMax),
            storage: pool.storage)
        deadline = Deadline(wheel: pool.deadlines)
        turnEnd = TurnEndHook(loop: pool.loop)
        deadline.handler = self
        turnEnd.setBody { [unowned self] in descriptorIsWritable() }
        let dial = UpstreamDial(pool: pool, server: server)
        self.dial = dial
        dial.begin { [unowned self] outcome in dialed(outcome) }
        isBegun = true
    }

    private func dialed(_ outcome: UpstreamDial.Outcome) {
        dial = nil
        switch outcome {
        // Before any request could have a place: reported to the first that has one.
        case .failed(let failure) where !isBegun: connectFailure = failure
        case .failed(let failure): lose(failure)
        case .connected(let transport):
            self.transport = transport
            tlsSession = transport.session
            transport.setHandler(self)
            transport.enableReading()
            scheduleFlush()
        }
    }

    // MARK: requests

    /// True if one more request has a place.
    var hasRoom: Bool {
        switch state {
        case .connecting, .open:
            leaseCount < session.streamCountMax && requestCount + waiting.count < requestCountMax
                && session.takesRequests
        case .ending, .closed: false
        }
    }

    private var requestCountMax: Int { pool.settings.requestsPerConnectionMax }

    var isIdle: Bool { leaseCount == 0 && state != .closed }

    /// Reserves a place for one request.
    func lease() -> UpstreamStream {
        leaseCount += 1
        return UpstreamStream(connection: self, wasReused: requestCount > 0)
    }

    /// Sends a stream's request, or keeps it until the server's SETTINGS have come.
    func begin(_ stream: UpstreamStream) {
        if let connectFailure {
            // Closed first, so that a retry gets no place here.
            close()
            return stream.fail(connectFailure, isUnsent: true)
        }
        switch state {
        case .connecting: waiting.append(stream)
        case .open: submit(stream)
        case .ending, .closed:
            stream.fail(.refused(description: "the connection ends"), isUnsent: true)
        }
    }

    private func submit(_ stream: UpstreamStream) {
        // More requests came before its SETTINGS than the server accepts at once. A server that
        // accepts none for now (RFC 9113 section 5.1.2) accepts none on another connection either.
        guard session.streamCountMax > 0 else {
            return stream.fail(.refused(description: "takes no requests for now"), isUnsent: true)
        }
        guard streams.count < session.streamCountMax else { return stream.goElsewhere() }
        guard let id = stream.submit() else {
            return stream.fail(.refused(description: "no more requests"), isUnsent: true)
        }
        streams[id] = stream
        requestCount += 1
        if !isForCheck { server.meter.countRequest() }
        if requestCount >= requestCountMax { end() }
        stream.pump()
        scheduleFlush()
    }

    /// Adds a body that goes on when the server has taken some of it.
    func addSending(_ stream: UpstreamStream) {
        if !sending.contains(where: { $0 === stream }) { sending.append(stream) }
    }

    /// The stream's exchange has ended or failed: frees its place.
    func release(_ stream: UpstreamStream) {
        if let id = stream.id {
            streams[id] = nil
            session.cancel(stream: id)
        }
        waiting.removeAll { $0 === stream }
        sending.removeAll { $0 === stream }
        relaying.removeAll { $0 === stream }
        leaseCount -= 1
        scheduleFlush()
        pool.placeCameFree(on: self)
    }

    // MARK: bytes

    // The pool may hold the last reference to this connection, and release it in any of these
    // calls.

    func descriptorIsReadable() {
        withExtendedLifetime(self) { read() }
    }

    func descriptorIsWritable() {
        withExtendedLifetime(self) { flush() }
    }

    func deadlineExpired() {
        withExtendedLifetime(self) { waitedTooLong() }
    }

    private func read() {
        guard let transport else { return }
        var input = ByteBuffer(pool: pool.storage)
        switch transport.read(into: &input, atMost: UpstreamConnection.streamByteCount) {
        case .bytes:
            wasHeard = true
            session.receive(input.readable)
            takeEvents()
            scheduleFlush()
        case .wouldBlock: break
        case .endOfFile: lose(.broken(description: "closed before the answer was complete"))
        case .failed(let code):
            lose(.broken(description: transport.failureText(errno: code)))
        }
    }

    private func takeEvents() {
        while let event = session.takeEvent() {
            switch event {
            case .ready: opened()
            case .head(let head):
                guard let stream = streams[head.stream] else { break }
                stream.receiveHead(head)
                relaying.append(stream)
            case .body(let id, let byteCount):
                let stream = streams[id]
                session.takeBody(stream: id, byteCount: byteCount) { bytes in
                    ((), stream?.receiveBody(bytes) ?? false)
                }
                if let stream, !relaying.contains(where: { $0 === stream }) {
                    relaying.append(stream)
                }
            case .trailers(let id, let bytes, let isTooLarge):
                streams[id]?.receiveTrailers(bytes, isTooLarge: isTooLarge)
            case .end(let id):
                keepSession()
                streams[id]?.complete()
            case .failed(let id, let failure): streams[id]?.fail(failure)
            case .goAway: end()
            case .pingAcknowledged: if wait == .pong { wait = .nothing }
            case .answeredEarly, .closed, .malformed, .settingsAcknowledged: break
            }
        }
        let heard = relaying
        relaying.removeAll(keepingCapacity: true)
        for stream in heard { stream.handOver() }
        if let fault = session.fault { breakOff(fault.rawValue) }
    }

    /// Lets further connections resume the session, once, when the server's tickets must have come.
    private func keepSession() {
        guard let tlsSession else { return }
        self.tlsSession = nil
        server.tls?.keep(tlsSession)
    }

    private func opened() {
        guard state == .connecting else { return }
        state = .open
        wait = .nothing
        let ready = waiting
        waiting.removeAll()
        for stream in ready { submit(stream) }
    }

    /// Has the submitted frames written when the turn ends.
    func scheduleFlush() {
        if state != .closed { turnEnd.schedule() }
    }

    private func flush() {
        guard state != .closed, transport != nil else { return }
        var isBlocked = false
        repeat {
            guard let transport else { return }
            switch session.write(to: transport, atMost: HTTP2Endpoint.writeByteCount) {
            case .all: break
            case .blocked(let byteCount):
                isBlocked = true
                // Progress: the time for the next byte starts anew.
                if byteCount > 0, wait == .send { wait = .nothing }
            case .broken:
                return lose(.broken(description: "the server has closed the connection"))
            }
            let bodies = sending
            sending.removeAll(keepingCapacity: true)
            for stream in bodies { stream.pump() }
            // A stream that could not be sent is reported now.
            takeEvents()
        } while !isBlocked && session.wantsWriting && state != .closed
        guard state != .closed else { return }
        if isBlocked { transport?.enableWriting() } else { transport?.disableWriting() }
        guard isBlocked || !session.isFinished else { return breakOff("connection_ended") }
        if isIdle { session.releaseStorage() }
        updateDeadline(isBlocked: isBlocked)
    }

    // MARK: ending

    private func updateDeadline(isBlocked: Bool) {
        let next: Wait =
            if isBlocked {
                .send
            } else if state == .connecting {
                .settings
            } else if leaseCount == 0 {
                .idle
            } else if pool.timeouts.ping != nil {
                wait == .pong ? .pong : .quiet
            } else {
                .nothing
            }
        guard next != wait else { return }
        wait = next
        wasHeard = false
        let timeouts = pool.timeouts
        switch next {
        case .nothing: deadline.clear()
        case .settings: deadline.set(afterNanoseconds: timeouts.connect)
        case .send: deadline.set(afterNanoseconds: timeouts.send)
        case .idle: deadline.set(afterNanoseconds: timeouts.idle)
        case .quiet, .pong: if let ping = timeouts.ping { deadline.set(afterNanoseconds: ping) }
        }
    }

    private func waitedTooLong() {
        switch wait {
        case .nothing: break
        case .settings: lose(.connectTimeout)
        case .send: lose(.sendTimeout)
        case .idle: close()
        case .quiet where wasHeard:
            wait = .nothing
            updateDeadline(isBlocked: false)
        case .quiet:
            session.ping()
            wait = .pong
            if let ping = pool.timeouts.ping { deadline.set(afterNanoseconds: ping) }
            scheduleFlush()
        case .pong: lose(.broken(description: "no answer to a PING"))
        }
    }

    /// Accepts no more requests; those under way are served.
    func end() {
        guard state == .open || state == .connecting else { return }
        if leaseCount == 0 { return close() }
        state = .ending
        let unsent = waiting
        waiting.removeAll()
        for stream in unsent {
            stream.fail(.refused(description: "the connection ends"), isUnsent: true)
        }
    }

    /// Ends the connection if no request uses it: to be called when the pool drops it.
    func close() {
        guard state != .closed else { return }
        if state != .connecting { session.close() }
        writeLast()
        tearDown(.complete)
    }

    /// The server broke the rules, or ended the connection and gave a reason.
    private func breakOff(_ code: String) {
        guard state != .closed else { return }
        writeLast()
        if session.fault == nil, session.isGoingAway {
            lose(.broken(description: "the server has ended the connection"))
        } else {
            lose(.malformed(code: code))
        }
    }

    /// Writes, before the end, what can be written without waiting.
    private func writeLast() {
        guard let transport else { return }
        _ = session.write(to: transport, atMost: HTTP2Endpoint.writeByteCount)
    }

    /// The connection is gone: every request on it fails.
    private func lose(_ failure: UpstreamFailure) {
        guard state != .closed else { return }
        let unsent = waiting
        let lost = streams.streams.map { (stream: $0, isUnsent: session.isUnsent($0.id ?? 0)) }
        tearDown(.cut)
        // One connection counts as one failure, however many requests shared it.
        if !unsent.isEmpty || !lost.isEmpty, !isForCheck { pool.serverFailed(server, failure) }
        for stream in unsent {
            stream.fail(failure.beforeConnecting, isUnsent: true, isCounted: true)
        }
        for (stream, isUnsent) in lost {
            stream.fail(failure, isUnsent: isUnsent, isCounted: true)
        }
    }

    private func tearDown(_ ending: Transport.Ending) {
        state = .closed
        turnEnd.cancel()
        transport?.close(ending)
        transport = nil
        dial?.cancel()
        dial = nil
        deadline.clear()
        pool.connectionClosed(self)
    }
}
