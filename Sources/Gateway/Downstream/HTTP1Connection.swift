import Bytes
import EventLoop
import HTTP
import Judgement
import Settings
import TLS

/// One client's connection: reads requests, runs one exchange after the other, and writes the
/// answers.
///
/// While idle, it holds no buffer and no exchange. It belongs to its worker's thread.
final class HTTP1Connection: ClientConnection, ReadinessHandler, DeadlineHandler {
    /// The present activity of the connection.
    enum State {
        /// No byte of the next request has come.
        case idle
        case readingHead
        /// An exchange runs; its body may still be coming.
        case exchanging
        /// The last answer is being written; then the connection closes.
        case finishing
        /// Our side is shut. Bytes that still come are thrown away, so that the client can read the
        /// answer before it sees a reset (RFC 9112 section 9.6).
        case lingering
        case closed
    }

    let worker: Worker
    let services: WorkerServices
    var listener: ListenerContext
    let peer: SocketAddress
    let peerText: String
    var isPeerTrusted: Bool
    var slot = 0
    var quotaPlace: QuotaPlace?
    var proxy: SocketAddress?
    /// The reason why the connection ends although it has no fault: its listener has changed.
    var ending = ListenerChange.Ending.none
    /// The timer after which that becomes urgent.
    var farewell: DelayedCall?

    /// The transport, or nil once it is closed.
    var transport: Transport?
    let deadline: Deadline
    var state = State.idle
    var input: ByteBuffer
    var output: ByteBuffer
    var exchange: Exchange?
    var bodyReader = RequestBodyReader()
    var responseFraming = ResponseFraming.length
    /// True if the connection stays open after the current exchange.
    var isPersistent = true
    var isContinueOwed = false
    var isUpstreamPaused = false
    /// The pace of a client that has to take something first; nil for all others.
    var heldPace: HeldPace?
    /// True if the upstream of a tunnel has ended. Our side ends once the client took what waits.
    var isTunnelOutputEnding = false
    private(set) var hasClientEnded = false
    private var isProcessing = false
    private var requestCount = 0
    private var lingering = Lingering()
    /// True if the first bytes may be those of HTTP/2.
    private var isPrefaceAwaited: Bool
    /// True after a write failed; the connection ends at the next flush.
    var isBroken = false

    init(worker: Worker, transport: Transport, peer: SocketAddress, listener: ListenerContext) {
        self.worker = worker
        services = worker.services
        input = ByteBuffer(pool: services.storage)
        output = ByteBuffer(pool: services.storage)
        self.transport = transport
        self.peer = peer
        self.listener = listener
        deadline = Deadline(wheel: services.deadlines)
        peerText = peer.isUnix ? "unix" : peer.ipText
        isPeerTrusted = listener.trusts(peer)
        isPrefaceAwaited = !listener.isTLS && listener.protocols.contains(.http2)
        deadline.handler = self
    }

    func start() {
        transport?.setHandler(self)
        transport?.enableReading()
        setDeadline(services.site.timeouts.requestHead)
    }

    /// Bounds the wait for the client's next bytes, unless the client has to take some first.
    func setDeadline(_ nanoseconds: UInt64) {
        if transport?.isWriting == true { return }
        deadline.set(afterNanoseconds: nanoseconds)
    }

    // MARK: reading

    func descriptorIsReadable() {
        guard let transport else { return }
        guard state != .lingering else {
            if lingering.isOver(transport, storage: services.storage) { close() }
            return
        }
        guard state != .finishing else { return transport.disableReading() }
        guard transport.isReading else {
            if exchange?.intake.isLeft(by: transport) ?? transport.isGone { lose() }
            return
        }
        switch transport.read(into: &input, atMost: bodyReader.readByteCountMax) {
        case .bytes:
            services.backlog.enter(transport, isNew: requestCount == 0, of: services)
            process()
            services.backlog.leave()
            pauseReadingWhenFull()
        case .wouldBlock: break
        case .endOfFile: clientEnded()
        case .failed: lose(after: transport, services, peerText)
        }
    }

    /// The client sends no more. It may still read; the route decides what that means.
    private func clientEnded() {
        switch state {
        case .exchanging where bodyReader.isComplete && exchange?.intake.endsWithClient != true:
            break
        case .idle where !output.isEmpty: if input.isEmpty { state = .finishing }
        case .idle: return close()
        // The earlier answers are the client's all the same.
        case .readingHead where !output.isEmpty: finish()
        default: return lose()
        }
        hasClientEnded = true
        transport?.watchChanges()
        if let exchange, exchange.forwarder.tunnel.isOpen { exchange.forwarder.clientEndedTunnel() }
    }

    /// Pauses reading if the buffer is full: pipelined requests wait in it, but not without bound.
    private func pauseReadingWhenFull() {
        let isWaiting = state == .exchanging ? bodyReader.isComplete : isOutputFull
        guard isWaiting, input.count >= Self.readByteCount else { return }
        transport?.watchChanges()
    }

    /// True if a client that reads no answers must not get more of them.
    var isOutputFull: Bool {
        output.count > services.site.settings.limits.responseBufferByteCountMax
    }

    /// Takes from the input what the current state can use; loops over pipelined requests.
    func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        while true {
            switch state {
            case .idle, .readingHead:
                if state == .idle, requestCount > 0 { input.dropEmptyLine() }
                // A request that may end the connection begins after the answer before it.
                guard !input.isEmpty, hasClientEnded ? output.isEmpty : !isOutputFull
                else { return }
                state = .readingHead
                guard readHead() else { return }
            case .exchanging:
                guard readBody() else { return }
            case .finishing, .lingering, .closed: return
            }
        }
    }

    /// Reads a head. True when it was complete and its exchange has begun.
    private func readHead() -> Bool {
        if isPrefaceAwaited {
            guard readPreface() else { return false }
            isPrefaceAwaited = false
        }
        let exchange = self.exchange ?? worker.takeExchange()
        self.exchange = exchange
        let isNew = exchange.number == 0
        if isNew {
            exchange.begin(on: self, listener: listener, peer: peer, isPeerTrusted: isPeerTrusted)
            exchange.client.session = transport?.session
        }
        switch exchange.intake.parseHead(input.readable) {
        case .incomplete:
            // The first head of a connection is timed from its start.
            if isNew, requestCount > 0 { setDeadline(services.site.timeouts.requestHead) }
            if hasClientEnded { lose() }
            return false
        case .refused(let refusal):
            countRequest()
            isPersistent = false
            bodyReader.end()
            exchange.intake.refuseHead(Refusal(refusal.gatewayReason, .httpFault(refusal.reason)))
            return false
        case .complete:
            countRequest()
            let intake = exchange.intake
            intake.keepHead(input.readable.extracting(0..<intake.head.byteCount))
            input.consume(intake.head.byteCount)
            bodyReader.begin(intake.head.framing)
            isContinueOwed = intake.head.expectsContinue && !bodyReader.isComplete
            isPersistent =
                intake.head.keepAlive && !worker.endsConnections && ending == .none
                && requestCount < services.site.settings.limits.requestsPerConnectionMax
            intake.beginBody(at: services.loop.now, isComplete: bodyReader.isComplete)
            exchange.arrival.mayBeLeft = hasClientEnded
            exchange.advance()
            return true
        }
    }

    private func countRequest() {
        state = .exchanging
        requestCount += 1
        services.meter.add(.requests)
    }

    /// Feeds the exchange's body. False if more bytes must come first.
    ///
    /// The exchange is called only while no view into the input is open, because its answer may
    /// change both.
    private func readBody() -> Bool {
        guard let exchange, !bodyReader.isComplete else {
            if let exchange, exchange.forwarder.tunnel.isOpen { sendThroughTunnel(exchange) }
            return false
        }
        guard !input.isEmpty else {
            awaitBody()
            return false
        }
        guard !exchange.intake.holdsClientBack() else {
            transport?.watchChanges()
            setBodyDeadline()
            return false
        }
        isContinueOwed = false
        switch bodyReader.next(input.readable) {
        case .data(let skip, let count, let isLast):
            input.consume(skip)
            let refusal = exchange.intake.receiveBody(input.readable.extracting(0..<count))
            input.consume(count)
            if let refusal {
                exchange.refuse(refusal)
            } else if isLast {
                exchange.intake.endBody()
            }
            return true
        case .ended(let consumed):
            input.consume(consumed)
            exchange.intake.endBody(bodyReader.trailers)
            return true
        case .needsMore(let consumed):
            input.consume(consumed)
            awaitBody()
            return false
        case .malformed(let fault):
            isPersistent = false
            bodyReader.end()
            let reason = HTTPRefusal(request: fault).gatewayReason
            exchange.refuse(Refusal(reason, .httpFault(fault)))
            return false
        }
    }

    /// Waits for more of the body, for a bounded time.
    private func awaitBody() {
        if hasClientEnded { return lose() }
        setBodyDeadline()
    }

    /// Bounds the wait for more of the body.
    func setBodyDeadline() {
        guard let exchange else { return }
        if let patience = exchange.intake.bodyPatience {
            setDeadline(patience)
        } else if transport?.isWriting != true {
            deadline.clear()
        }
    }

    /// The upstream has taken the bytes that made the client wait.
    func resumeBody() {
        guard state == .exchanging, !bodyReader.isComplete else { return }
        if !hasClientEnded { transport?.enableReading() }
        setBodyDeadline()
        process()
    }

    // MARK: between exchanges

    /// The exchange has been recorded: the connection continues with the next one, or ends.
    func exchangeEnded() {
        if let exchange {
            self.exchange = nil
            worker.giveBack(exchange)
        }
        guard state == .exchanging else { return }
        isUpstreamPaused = false
        input.dropEmptyLine()
        let hasMore = !hasClientEnded || !input.isEmpty
        var mayGoOn = true
        if services.isDraining { mayGoOn = RequestHead.isWhole(input.readable) }
        guard isPersistent, hasMore, bodyReader.isComplete, mayGoOn, ending != .atOnce else {
            state = .finishing
            flush()
            return
        }
        state = .idle
        flush()
        guard state == .idle else { return }
        rest()
        if !hasClientEnded { transport?.enableReading() }
        process()
    }

    /// Waits for the next request, and holds little memory meanwhile.
    func rest() {
        guard state == .idle, input.isEmpty, output.isEmpty else { return }
        input.release()
        output.release()
        bodyReader.end()
        setDeadline(services.site.timeouts.idle)
    }

    /// The worker is stopping: the connection ends after the answers that it is owed.
    func drain() {
        // The kernel may hold a request already, above all of a connection just accepted.
        if state == .idle { descriptorIsReadable() }
        guard state == .idle else { return }
        // A client that has only just connected has a request on its way.
        if worker.isHandingOver, requestCount == 0 {
            return setDeadline(Self.firstRequestPatience.wholeNanoseconds)
        }
        // The request waits until the client has taken the earlier answers.
        if RequestHead.isWhole(input.readable) { return }
        state = .finishing
        if output.isEmpty { close() }
    }

    func deadlineExpired() {
        // Bytes have waited for the client for too long, whatever else goes on.
        if let transport, transport.isWriting { return checkClient(transport) }
        switch state {
        case .idle, .lingering: close()
        case .readingHead where requestCount == 0 && input.isEmpty: close()
        case .readingHead: timeOutRequest()
        case .exchanging: if !bodyReader.isComplete { timeOutRequest() }
        case .finishing, .closed: break
        }
    }

    private func timeOutRequest() {
        guard let exchange, !exchange.progress.isStarted else { return lose() }
        isPersistent = false
        bodyReader.end()
        state = .exchanging
        exchange.refuse(Refusal(.requestTimeout))
    }

    /// Shuts our side and waits briefly for the client to do the same.
    func linger() {
        if hasClientEnded { return close() }
        state = .lingering
        transport?.shutdownWrite()
        input.release()
        transport?.enableReading()
        deadline.set(at: services.loop.now + Lingering.timeout)
    }

    /// Closes without another word, because the client is gone or must go.
    func lose() {
        guard state != .closed else { return }
        let lost = exchange
        close(.cut)
        if let lost, lost.number != 0 { lost.downstreamIsLost() }
    }

    func close(_ ending: Transport.Ending = .complete) {
        guard state != .closed else { return }
        state = .closed
        transport?.close(ending)
        transport = nil
        deadline.clear()
        farewell = nil
        if let exchange, exchange.number == 0 {
            self.exchange = nil
            worker.giveBack(exchange)
        }
        worker.remove(self)
    }

    /// The most bytes of one read.
    static let readByteCount = StoragePool.smallByteCount
    /// Below this size a copy is cheaper than another element for `writev`.
    static let copyByteCountMax = 4 * 1024
    /// The time that a new connection has for its first request while its worker hands over.
    static let firstRequestPatience = Duration.seconds(1)
}
