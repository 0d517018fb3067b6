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
    let server: Endpoint
    let addressText: String
    /// From the start; ``transport`` takes it over.
    private(set) var watch: Watch?
    /// Of the handshake under way.
    var session: TLSSession?
    /// Nil until it is connected, and once it is closed.
    var transport: Transport?
    private var deadline: Deadline?
    var state = State.connecting
    /// Whether the pool holds it.
    var isIdle = false
    private(set) var exchange: Exchange?
    private var input: ByteBuffer
    private var response = ResponseHead()
    private var bodyReader = ResponseBodyReader.untilClose
    private var requestCount = 0
    var connectFailure: String?

    // What is being sent, from where the exchange holds it: a retry finds it untouched.
    private var sentCount = 0
    private var pending = ByteBuffer()
    private var bodyOffset = 0
    private var sawAnswer = false
    private var interimCount = 0
    /// Reads no more: the client is slower than the upstream.
    private(set) var isPaused = false

    init(pool: UpstreamPool, server: Endpoint, address: SocketAddress, addressText: String) {
        self.pool = pool
        self.server = server
        input = ByteBuffer(pool: pool.worker.storage)
        self.addressText = addressText
        deadline = Deadline(wheel: pool.worker.deadlines, handler: self)
        switch Socket.connect(to: address) {
        case .connected(let descriptor):
            setDeadline(pool.connectNanoseconds)
            watch(descriptor)
            connected()
        case .inProgress(let descriptor):
            watch(descriptor)
            watch?.enableWriting()
            setDeadline(pool.connectNanoseconds)
        case .failed(let code):
            connectFailure = IOError.text(errno: code)
        }
    }

    private func watch(_ descriptor: Int32) {
        watch = Watch(loop: pool.worker.loop, descriptor: descriptor, handler: self)
    }

    private func setDeadline(_ nanoseconds: UInt64) {
        deadline?.set(afterNanoseconds: nanoseconds)
    }

    /// How long the upstream may be silent: by the route, else for all of its requests.
    private var responseNanoseconds: UInt64 {
        exchange?.treatment?.responseNanoseconds ?? pool.responseNanoseconds
    }

    // MARK: sending

    /// Sends the exchange's request; the answer comes by the exchange's `upstream…` calls.
    func send(_ exchange: Exchange) {
        self.exchange = exchange
        sawAnswer = false
        isPaused = false
        interimCount = 0
        bodyOffset = 0
        sentCount = 0
        writeFailure = nil
        if connectFailure != nil { return failToConnect() }
        if state == .connecting || state == .handshaking { return }
        beginRequest()
    }

    func failToConnect() { fail(.connect(description: connectFailure ?? "")) }

    func beginRequest() {
        requestCount += 1
        state = .awaitingHead
        response.reset()
        setDeadline(responseNanoseconds)
        pool.worker.outbox.add(self)
    }

    /// Sends what ``Outbox`` has gathered; the connection may have ended meanwhile.
    func sendRequest() {
        guard state == .awaitingHead else { return }
        sendMore()
    }

    /// Writes head and body as far as the kernel takes them.
    private func sendMore() {
        guard let exchange, writeFailure == nil, sendHead(exchange), sendMemory(exchange) else {
            return
        }
        if !exchange.body.isInMemory, !sendFile(exchange) { return }
        transport?.disableWriting()
    }

    /// The head, which brings a small body along. False where the kernel takes no more for now.
    private func sendHead(_ exchange: Exchange) -> Bool {
        guard let transport else { return false }
        while sentCount < exchange.upstreamHead.count {
            let sent = sentCount
            let outcome = transport.write(
                exchange.upstreamHead.readable.extracting(sent...))
            guard let count = written(outcome) else { return false }
            sentCount += count
        }
        return true
    }

    /// What the head did not bring along of a body in memory.
    private func sendMemory(_ exchange: Exchange) -> Bool {
        guard let transport, exchange.body.isInMemory else { return true }
        if exchange.isBodyInHead { bodyOffset = exchange.body.byteCount }
        while bodyOffset < exchange.body.byteCount {
            let offset = bodyOffset
            let outcome = exchange.body.withMemory { body in
                transport.write(body.extracting(offset...))
            }
            guard let count = written(outcome) else { return false }
            bodyOffset += count
        }
        return true
    }

    /// A body in a file, piece by piece. False where the kernel takes no more for now.
    private func sendFile(_ exchange: Exchange) -> Bool {
        guard let transport else { return false }
        while true {
            if pending.isEmpty {
                guard bodyOffset < exchange.body.byteCount else { return true }
                do throws(IOError) {
                    let count = try exchange.body.read(
                        at: bodyOffset, into: &pending, atMost: Self.sendByteCount)
                    guard count > 0 else {
                        fail(.broken(description: "the body's file is short"))
                        return false
                    }
                    bodyOffset += count
                } catch {
                    fail(.broken(description: error.description))
                    return false
                }
            }
            guard let count = written(transport.write(pending.readable)) else {
                return false
            }
            pending.consume(count)
        }
    }

    /// How much was written; nil where nothing more can be for now, or ever.
    private func written(_ outcome: WriteOutcome) -> Int? {
        switch outcome {
        case .bytes(let count): return count
        case .wouldBlock: transport?.enableWriting()
        case .failed(let code):
            // The answer may be waiting all the same: a server that refuses a body early.
            transport?.disableWriting()
            writeFailure = failureText(errno: code)
        }
        return nil
    }

    /// Why the request could not be sent whole; told when no answer comes either.
    private var writeFailure: String?

    private var isRequestSent: Bool {
        guard let exchange else { return true }
        return writeFailure == nil && sentCount >= exchange.upstreamHead.count
            && pending.isEmpty && bodyOffset >= exchange.body.byteCount
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
        case .awaitingHead, .readingBody:
            setDeadline(responseNanoseconds)
            sendMore()
        case .idle, .closed: break
        }
    }

    // MARK: receiving

    func descriptorIsReadable() {
        if state == .handshaking { return proceed() }
        guard let transport else { return }
        let outcome = transport.read(
            into: &input,
            atMost: state == .readingBody ? Self.streamByteCount : Self.readByteCount)
        switch outcome {
        case .bytes:
            guard exchange != nil else { return close() }
            sawAnswer = true
            process()
        case .wouldBlock: break
        case .endOfFile: ended()
        case .failed(let code):
            failOrClose(.broken(description: writeFailure ?? failureText(errno: code)))
        }
    }

    private func process() {
        while state == .awaitingHead, !input.isEmpty {
            guard readHead() else { return }
        }
        guard state == .readingBody else { return }
        readBody()
    }

    /// False when more must come first, or the exchange is over.
    private func readHead() -> Bool {
        guard let exchange else { return false }
        let outcome = response.parse(
            input.readable, limits: pool.responseHeadLimits,
            requestMethodKind: exchange.head.methodKind)
        switch outcome {
        case .incomplete: return false
        case .refused(let refusal):
            fail(.malformed(code: refusal.reason.code.description))
            return false
        case .complete: break
        }
        if response.status < 200 {
            guard response.status != 101 else {
                fail(.malformed(code: "unexpected_upgrade"))
                return false
            }
            interimCount += 1
            guard interimCount <= Self.interimCountMax else {
                fail(.malformed(code: "too_many_interim_answers"))
                return false
            }
            exchange.upstreamSentInterim(response, bytes: input.readable)
            input.consume(response.byteCount)
            response.reset()
            exchange.upstreamPaused()
            return self.exchange != nil
        }
        bodyReader = ResponseBodyReader(response.framing)
        state = .readingBody
        exchange.upstreamSentHead(response, bytes: input.readable)
        input.consume(response.byteCount)
        return true
    }

    private func readBody() {
        guard let exchange else { return }
        var isReady = true
        loop: while true {
            switch bodyReader.next(input.readable) {
            case .data(let skip, let count):
                input.consume(skip)
                if !exchange.upstreamSentBody(input.readable.extracting(0..<count)) {
                    isReady = false
                }
                input.consume(count)
            case .ended(let consumed):
                input.consume(consumed)
                return complete(exchange)
            case .needsMore(let consumed):
                input.consume(consumed)
                break loop
            case .malformed(let fault):
                return fail(.malformed(code: fault.code.description))
            }
        }
        setDeadline(responseNanoseconds)
        if !isReady {
            isPaused = true
            transport?.disableReading()
            // The client's own send time-out bounds this wait.
            deadline?.clear()
        }
        exchange.upstreamPaused()
    }

    /// The client is ready for more.
    func resumeReading() {
        guard isPaused, state == .readingBody else { return }
        isPaused = false
        setDeadline(responseNanoseconds)
        transport?.enableReading()
    }

    private func complete(_ exchange: Exchange) {
        let mayLiveOn = response.keepAlive && isRequestSent && input.isEmpty
        self.exchange = nil
        if mayLiveOn {
            input.release()
            pending.release()
            state = .idle
            setDeadline(pool.idleNanoseconds)
            pool.giveBack(self)
        } else {
            close()
        }
        exchange.upstreamEnded(bodyReader)
    }

    private func ended() {
        guard let exchange else { return close() }
        if state == .readingBody, bodyReader.endsAtClose {
            complete(exchange)
        } else {
            fail(.broken(description: writeFailure ?? "closed before the answer was complete"))
        }
    }

    // MARK: ending

    func deadlineExpired() {
        guard exchange != nil else { return close() }
        let isConnected = state != .connecting && state != .handshaking
        fail(isConnected ? .responseTimeout : .connectTimeout)
    }

    private func failureText(errno code: Int32) -> String {
        transport?.failureText(errno: code) ?? IOError.text(errno: code)
    }

    private func failOrClose(_ failure: UpstreamFailure) {
        if exchange == nil { close() } else { fail(failure) }
    }

    private func fail(_ failure: UpstreamFailure) {
        let failed = exchange
        let wasReused = requestCount > 1
        exchange = nil
        close()
        failed?.upstreamFailed(failure, wasReused: wasReused, sawAnswer: sawAnswer)
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

    static let readByteCount = 16 * 1024
    /// Large answers are moved in larger pieces.
    static let streamByteCount = 64 * 1024
    static let sendByteCount = 64 * 1024
    /// A client that reads slowly has them all waiting, so there must be an end to them.
    static let interimCountMax = 32
}
