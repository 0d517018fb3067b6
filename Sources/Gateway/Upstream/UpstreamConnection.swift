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

    private let pool: UpstreamPool
    let addressText: String
    private var descriptor: Int32 = -1
    private var watch: Watch?
    private var deadline: Deadline?
    private(set) var state = State.connecting
    /// Whether the pool holds it.
    var isIdle = false
    private var exchange: Exchange?
    private var input: ByteBuffer
    private var response = ResponseHead()
    private var bodyReader = ResponseBodyReader.untilClose
    private var requestCount = 0
    private var connectFailure: String?

    // What is being sent: head and body from where the exchange holds them, so that a retry finds
    // both untouched; of a body in a file the piece that is under way.
    private var sentCount = 0
    private var pending = ByteBuffer()
    private var bodyOffset = 0
    private var sawAnswer = false
    private var interimCount = 0
    /// Reads no more: the client is slower than the upstream.
    private(set) var isPaused = false

    init(pool: UpstreamPool, address: SocketAddress, addressText: String) {
        self.pool = pool
        input = ByteBuffer(pool: pool.worker.storage)
        self.addressText = addressText
        deadline = Deadline(wheel: pool.worker.deadlines, handler: self)
        switch Socket.connect(to: address) {
        case .connected(let descriptor):
            state = .idle
            watch(descriptor)
        case .inProgress(let descriptor):
            watch(descriptor)
            watch?.enableWriting()
            setDeadline(pool.connectNanoseconds)
        case .failed(let code):
            connectFailure = IOError.text(errno: code)
        }
    }

    private func watch(_ descriptor: Int32) {
        self.descriptor = descriptor
        watch = Watch(loop: pool.worker.loop, descriptor: descriptor, handler: self)
        if state == .idle { watch?.enableReading() }
    }

    private func setDeadline(_ nanoseconds: UInt64) {
        deadline?.set(afterNanoseconds: nanoseconds)
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
        if let connectFailure {
            fail(.connect(description: connectFailure))
            return
        }
        if state == .connecting { return }
        beginRequest()
    }

    private func beginRequest() {
        requestCount += 1
        state = .awaitingHead
        response.reset()
        setDeadline(pool.responseNanoseconds)
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
        watch?.disableWriting()
    }

    /// The head, which brings a small body along. False where the kernel takes no more for now.
    private func sendHead(_ exchange: Exchange) -> Bool {
        while sentCount < exchange.upstreamHead.count {
            let sent = sentCount
            let outcome = Socket.write(
                descriptor, exchange.upstreamHead.readable.extracting(sent...))
            guard let count = written(outcome) else { return false }
            sentCount += count
        }
        return true
    }

    /// What the head did not bring along of a body in memory.
    private func sendMemory(_ exchange: Exchange) -> Bool {
        guard exchange.body.isInMemory else { return true }
        if exchange.isBodyInHead { bodyOffset = exchange.body.byteCount }
        while bodyOffset < exchange.body.byteCount {
            let offset = bodyOffset
            let descriptor = descriptor
            let outcome = exchange.body.withMemory { body in
                Socket.write(descriptor, body.extracting(offset...))
            }
            guard let count = written(outcome) else { return false }
            bodyOffset += count
        }
        return true
    }

    /// A body in a file, piece by piece. False where the kernel takes no more for now.
    private func sendFile(_ exchange: Exchange) -> Bool {
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
            guard let count = written(Socket.write(descriptor, pending.readable)) else {
                return false
            }
            pending.consume(count)
        }
    }

    /// How much was written; nil where nothing more can be for now, or ever.
    private func written(_ outcome: WriteOutcome) -> Int? {
        switch outcome {
        case .bytes(let count): return count
        case .wouldBlock: watch?.enableWriting()
        case .failed(let code):
            // The answer may be waiting all the same: a server that refuses a body early.
            watch?.disableWriting()
            writeFailure = IOError.text(errno: code)
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
            let error = Socket.connectError(descriptor)
            guard error == 0 else {
                return fail(.connect(description: IOError.text(errno: error)))
            }
            watch?.disableWriting()
            state = .idle
            watch?.enableReading()
            if exchange != nil { beginRequest() }
        case .awaitingHead, .readingBody:
            setDeadline(pool.responseNanoseconds)
            sendMore()
        case .idle, .closed: break
        }
    }

    // MARK: receiving

    func descriptorIsReadable() {
        let outcome = Socket.read(
            descriptor, into: &input,
            atMost: state == .readingBody ? Self.streamByteCount : Self.readByteCount)
        switch outcome {
        case .bytes:
            guard exchange != nil else { return close() }
            sawAnswer = true
            process()
        case .wouldBlock: break
        case .endOfFile: ended()
        case .failed(let code):
            failOrClose(.broken(description: writeFailure ?? IOError.text(errno: code)))
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
                relayTrailers(exchange)
                return complete(exchange)
            case .needsMore(let consumed):
                input.consume(consumed)
                break loop
            case .malformed(let fault):
                return fail(.malformed(code: fault.code.description))
            }
        }
        setDeadline(pool.responseNanoseconds)
        if !isReady {
            isPaused = true
            watch?.disableReading()
            // The client's own send time-out bounds this wait.
            deadline?.clear()
        }
        exchange.upstreamPaused()
    }

    private func relayTrailers(_ exchange: Exchange) {
        guard case .chunked(let decoder) = bodyReader, !decoder.trailers.isEmpty else { return }
        let bytes = decoder.trailerBytes
        exchange.upstreamSentTrailers(decoder.trailers, bytes: bytes.span)
    }

    /// The client is ready for more.
    func resumeReading() {
        guard isPaused, state == .readingBody else { return }
        isPaused = false
        setDeadline(pool.responseNanoseconds)
        watch?.enableReading()
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
        exchange.upstreamEnded()
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
        fail(state == .connecting ? .connectTimeout : .responseTimeout)
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

    static let readByteCount = 16 * 1024
    /// Large answers are moved in larger pieces.
    static let streamByteCount = 64 * 1024
    static let sendByteCount = 64 * 1024
    /// A client that reads slowly has them all waiting, so there must be an end to them.
    static let interimCountMax = 32
}
