import Bytes
import EventLoop
import HTTP
import Judgement
import Settings
import TLS

/// One connection to an upstream server, which carries one request at a time.
final class UpstreamConnection: RequestSink, ReadinessHandler, DeadlineHandler {
    enum State {
        case connecting
        case idle
        /// A request is being sent, or its answer awaited.
        case awaitingHead
        case readingBody
        case closed
    }

    let pool: UpstreamPool
    let server: PooledServer
    /// The attempt to connect, while there is one.
    private(set) var dial: UpstreamDial?
    /// The session to be kept once it can be resumed.
    private var session: TLSSession?
    /// The transport, or nil until it is connected and once it is closed.
    var transport: Transport?
    let deadline: Deadline
    var state = State.connecting
    /// True if the pool holds it.
    var isIdle = false
    /// The time at which the pool got it back.
    var idleSince = MonotonicInstant(nanoseconds: 0)
    /// The time for which the server keeps it, if the server says so.
    var keptNanoseconds: UInt64?
    /// True if it was made for one health check.
    var isForCheck = false
    var request: (any UpstreamRequest)?
    var input: ByteBuffer
    var response = ResponseHead()
    var bodyReader = ResponseBodyReader()
    var requestCount = 0
    /// The reason why it could not connect, reported when a request comes.
    var connectFailure: UpstreamFailure?

    // The progress of sending. Head and body are read from the request's own places, so that a
    // retry finds both unchanged. If the body is in a file, this includes the piece that is being
    // sent.
    var sentCount = 0
    /// The count of the request's bytes that were given to the kernel.
    var writtenCount = WrittenCount()
    var pending = ByteBuffer()
    /// True if the worker's ``Outbox`` will have it send soon.
    var isInOutbox = false
    var bodyOffset = 0
    /// True if a streamed body has ended.
    var isBodyEnded = false
    /// The reason why the request could not be sent completely, reported if no answer comes either.
    var writeFailure: String?
    var sawAnswer = false
    /// True if the last read took all that it was allowed to.
    var mayHaveMore = false
    var interimCount = 0
    /// True if bytes go both ways and are HTTP on neither side any more.
    var isTunnel = false
    /// The side that sends no more through the tunnel.
    enum TunnelEnd { case none, client, upstream }
    var tunnelEnd = TunnelEnd.none
    /// True if reading has stopped because the client is slower than the upstream.
    var isPaused = false

    init(pool: UpstreamPool, server: PooledServer) {
        self.pool = pool
        self.server = server
        input = ByteBuffer(pool: pool.storage)
        deadline = Deadline(wheel: pool.deadlines)
        deadline.handler = self
        let dial = UpstreamDial(pool: pool, server: server)
        self.dial = dial
        dial.begin { [unowned self] outcome in dialed(outcome) }
    }

    private func dialed(_ outcome: UpstreamDial.Outcome) {
        dial = nil
        switch outcome {
        case .failed(let failure):
            connectFailure = failure
            if request != nil { fail(failure) }
        case .connected(let transport):
            self.transport = transport
            session = transport.session
            transport.setHandler(self)
            state = .idle
            transport.enableReading()
            if let request { begin(request) }
        }
    }

    /// Lets further connections resume the session, once, when the server's tickets must have come.
    func keepSession() {
        guard let session else { return }
        self.session = nil
        server.tls?.keep(session)
    }

    func setDeadline(_ nanoseconds: UInt64) {
        deadline.set(afterNanoseconds: nanoseconds)
    }

    func descriptorIsWritable() {
        switch state {
        case .readingBody where isTunnel:
            transport?.disableWriting()
            request?.upstreamIsReady()
        case .awaitingHead, .readingBody:
            sendMore()
            guard state == .awaitingHead, request?.bodyPlace.isStream == false else { return }
            if deadline.isSet {
                setDeadline(isRequestSent ? headNanoseconds : pool.timeouts.send)
            }
        case .connecting, .idle, .closed: break
        }
    }

    /// True if the server keeps the idle connection for now: it says so, or the connection was just
    /// used.
    func isSurelyKept(now: MonotonicInstant) -> Bool {
        keptNanoseconds != nil
            || now.nanoseconds(since: idleSince) < Self.surelyKeptNanoseconds
    }

    /// Hardly any server ends idle connections sooner; many do after 2 or 5 seconds.
    static let surelyKeptNanoseconds: UInt64 = 1_000_000_000

    var protocolVersion: StaticString { response.version == .http11 ? "1.1" : "1.0" }

    // MARK: ending

    func deadlineExpired() {
        guard request != nil else { return close() }
        switch state {
        case .readingBody where isTunnel: endTunnel(.tunnelTimeout)
        case .readingBody: fail(.readTimeout)
        default: fail(isRequestSent || writeFailure != nil ? .responseTimeout : .sendTimeout)
        }
    }

    func failureText(errno code: Int32) -> String {
        transport?.failureText(errno: code) ?? IOError.text(errno: code)
    }

    func failOrClose(_ failure: UpstreamFailure) {
        if request == nil { close() } else { fail(failure) }
    }

    /// - Parameter isUnheard: true if the server ended the connection before any byte of the
    ///   request had come there.
    func fail(_ failure: UpstreamFailure, isUnheard: Bool = false) {
        let failed = request
        let wasReused = requestCount > 1
        let isUnsent = sentCount == 0 || isUnheard
        request = nil
        close()
        // A server may end an idle connection at any time, so a request on its way says nothing
        // about the server. The same holds if it does not wait for a client forever.
        let isServersFault = !isPaused && (!wasReused || sawAnswer || !failure.isBreak)
        if isServersFault, failed != nil, !isForCheck {
            pool.serverFailed(server, failure)
        }
        failed?.upstreamFailed(
            failure, wasReused: wasReused, isUnsent: isUnsent, sawAnswer: sawAnswer)
    }

    var hasSent: Bool { sentCount > 0 }

    /// The client does not wait for the answer any more.
    func abandon() {
        request = nil
        close()
    }

    func close() {
        guard state != .closed else { return }
        state = .closed
        if let transport {
            // A connection with an answer under way is cut, because that is no proper end.
            transport.close(request == nil && isIdle ? .complete : .cut)
        }
        transport = nil
        session = nil
        dial?.cancel()
        dial = nil
        deadline.clear()
        input.release()
        pending.release()
        pool.connectionClosed(self)
    }
}

/// Bytes of a request that were given to the kernel.
struct WrittenCount {
    /// The number of bytes as they were written.
    var plain = 0
    /// The bytes that TLS had given to the kernel before.
    var sealedBefore: UInt64 = 0

    /// The number of these bytes on the wire. TLS records are longer than their content.
    func onWire(of transport: Transport) -> Int {
        transport.sealedByteCount.map { Int($0 - sealedBefore) } ?? plain
    }
}
