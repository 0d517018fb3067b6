import Bytes
import EventLoop
import HTTP
import Settings
import TLS

/// One connection to an upstream server: carries one exchange at a time.
final class UpstreamConnection: ReadinessHandler, DeadlineHandler {
    enum State {
        case connecting
        /// The TLS handshake, in the time for connecting.
        case handshaking
        case idle
        /// A request is being sent, or its answer awaited.
        case awaitingHead
        case readingBody
        case closed
    }

    let pool: UpstreamPool
    let server: PooledServer
    /// From the start; ``transport`` takes it over.
    private(set) var watch: Watch?
    /// Of the handshake under way, and then until it can be resumed.
    var session: TLSSession?
    /// Nil until it is connected, and once it is closed.
    var transport: Transport?
    var deadline: Deadline?
    var state = State.connecting
    /// Whether the pool holds it.
    var isIdle = false
    /// Made for one health check.
    var isForCheck = false
    var exchange: Exchange?
    var input: ByteBuffer
    var response = ResponseHead()
    var bodyReader = ResponseBodyReader.untilClose
    var requestCount = 0
    var connectFailure: String?

    // What is being sent: head and body from where the exchange holds them, so that a retry finds
    // both untouched; of a body in a file the piece that is under way.
    var sentCount = 0
    var pending = ByteBuffer()
    var bodyOffset = 0
    /// Why the request could not be sent whole; told when no answer comes either.
    var writeFailure: String?
    var sawAnswer = false
    /// The last read took all that it was allowed to.
    var mayHaveMore = false
    var interimCount = 0
    /// Bytes go both ways, and neither side's are HTTP any more.
    var isTunnel = false
    /// Who sends no more through the tunnel.
    enum TunnelEnd { case none, client, upstream }
    var tunnelEnd = TunnelEnd.none
    /// Reads no more: the client is slower than the upstream.
    var isPaused = false

    init(pool: UpstreamPool, server: PooledServer) {
        self.pool = pool
        self.server = server
        input = ByteBuffer(pool: pool.worker.storage)
        deadline = Deadline(wheel: pool.worker.deadlines, handler: self)
        switch Socket.connect(to: server.state.address) {
        case .connected(let descriptor):
            setDeadline(pool.timeouts.connect)
            watch(descriptor)
            connected()
        case .inProgress(let descriptor):
            watch(descriptor)
            watch?.enableWriting()
            setDeadline(pool.timeouts.connect)
        case .failed(let code):
            connectFailure = IOError.text(errno: code)
        }
    }

    private func watch(_ descriptor: Int32) {
        watch = Watch(loop: pool.worker.loop, descriptor: descriptor, handler: self)
    }

    func setDeadline(_ nanoseconds: UInt64) {
        deadline?.set(afterNanoseconds: nanoseconds)
    }

    func descriptorIsWritable() {
        switch state {
        case .connecting:
            guard let watch else { return }
            let error = Socket.connectError(watch.descriptor)
            guard error == 0 else {
                return fail(.connect(description: IOError.text(errno: error)))
            }
            connected()
            if connectFailure != nil, exchange != nil { failToConnect() }
        case .handshaking: proceed()
        case .readingBody where isTunnel:
            transport?.disableWriting()
            exchange?.upstreamIsReady()
        case .awaitingHead, .readingBody:
            sendMore()
            guard state == .awaitingHead else { return }
            setDeadline(isRequestSent ? headNanoseconds : pool.timeouts.send)
        case .idle, .closed: break
        }
    }

    // MARK: ending

    func deadlineExpired() {
        guard exchange != nil else { return close() }
        switch state {
        case .connecting, .handshaking: fail(.connectTimeout)
        case .readingBody where isTunnel: endTunnel(detail: "tunnel_timeout")
        case .readingBody: fail(.readTimeout)
        default: fail(isRequestSent || writeFailure != nil ? .responseTimeout : .sendTimeout)
        }
    }

    func failureText(errno code: Int32) -> String {
        transport?.failureText(errno: code) ?? IOError.text(errno: code)
    }

    func failOrClose(_ failure: UpstreamFailure) {
        if exchange == nil { close() } else { fail(failure) }
    }

    func fail(_ failure: UpstreamFailure) {
        let failed = exchange
        let wasReused = requestCount > 1
        let isUnsent = sentCount == 0
        exchange = nil
        close()
        // A server may end an idle connection at any time: that another request was just on its
        // way says nothing about the server.
        let isServersFault = !wasReused || sawAnswer || !failure.isBreak
        if isServersFault, failed?.isHealthCheck == false { pool.serverFailed(server, failure) }
        failed?.upstreamFailed(
            failure, wasReused: wasReused, isUnsent: isUnsent, sawAnswer: sawAnswer)
    }

    /// Nobody waits for the answer any more.
    func abandon() {
        exchange = nil
        close()
    }

    func close() {
        guard state != .closed else { return }
        state = .closed
        if let transport {
            // An answer under way is not wanted any more: that is no proper end.
            transport.close(exchange == nil && isIdle ? .complete : .cut)
        } else if let watch {
            watch.cancel()
            Socket.close(watch.descriptor)
        }
        transport = nil
        session = nil
        watch = nil
        deadline?.clear()
        deadline = nil
        input.release()
        pending.release()
        pool.connectionClosed(self)
    }
}
