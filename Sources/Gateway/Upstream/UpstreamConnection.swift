import Bytes
import EventLoop
import HTTP
import Settings

/// One connection to an upstream server: carries one exchange at a time.
final class UpstreamConnection: ReadinessHandler, DeadlineHandler {
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
    var descriptor: Int32 = -1
    var watch: Watch?
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
    var interimCount = 0
    /// Bytes go both ways, and neither side's are HTTP any more.
    var isTunnel = false
    /// Reads no more: the client is slower than the upstream.
    var isPaused = false

    init(pool: UpstreamPool, server: PooledServer) {
        self.pool = pool
        self.server = server
        input = ByteBuffer(pool: pool.worker.storage)
        deadline = Deadline(wheel: pool.worker.deadlines, handler: self)
        switch Socket.connect(to: server.state.address) {
        case .connected(let descriptor):
            state = .idle
            watch(descriptor)
        case .inProgress(let descriptor):
            watch(descriptor)
            watch?.enableWriting()
            setDeadline(pool.timeouts.connect)
        case .failed(let code):
            connectFailure = IOError.text(errno: code)
        }
    }

    private func watch(_ descriptor: Int32) {
        self.descriptor = descriptor
        watch = Watch(loop: pool.worker.loop, descriptor: descriptor, handler: self)
        if state == .idle { watch?.enableReading() }
    }

    func setDeadline(_ nanoseconds: UInt64) {
        deadline?.set(afterNanoseconds: nanoseconds)
    }

    func descriptorIsWritable() {
        switch state {
        case .connecting:
            let error = Socket.connectError(descriptor)
            guard error == 0 else {
                return fail(.connect(description: IOError.text(errno: error)))
            }
            watch?.disableWriting()
            state = .idle
            watch?.enableReading()
            if exchange != nil { beginRequest() }
        case .readingBody where isTunnel:
            watch?.disableWriting()
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
        case .connecting: fail(.connectTimeout)
        case .readingBody where isTunnel: endTunnel(detail: "tunnel_timeout")
        case .readingBody: fail(.readTimeout)
        default: fail(isRequestSent || writeFailure != nil ? .responseTimeout : .sendTimeout)
        }
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
        watch?.cancel()
        watch = nil
        deadline?.clear()
        deadline = nil
        if descriptor >= 0 { Socket.close(descriptor) }
        descriptor = -1
        input.release()
        pending.release()
        pool.connectionClosed(self)
    }
}
