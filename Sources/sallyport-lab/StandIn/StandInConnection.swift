import AppAttestTesting
import Bytes
import EventLoop
import HTTP
import TLS

/// One connection to a stand-in: takes a request, sends the answer correctly or with the ordered
/// fault, and takes the next request.
final class StandInConnection: ReadinessHandler {
    private static let limits = HeadLimits(
        headByteCountMax: 32 * 1024, fieldCountMax: 100, targetByteCountMax: 1024)
    private static let bodyByteCountMax = 256 * 1024
    /// Two requests: one that is taken, and one that waits for its answer.
    private static let receivedByteCountMax = 2 * (limits.headByteCountMax + bodyByteCountMax)

    private unowned let listener: StandInListener
    private let watch: Watch
    private let descriptor: Int32
    /// The session, until its handshake is complete.
    private var session: TLSSession?
    private var transport: Transport?
    private var received = ByteBuffer()
    private var unsent = ByteBuffer()
    private var head = RequestHead()
    private var timer: Timer?
    /// The rest of an answer that comes in pieces.
    private var stream: (any StandInStream)?
    /// True from a piece of the stream until the next one is due.
    private var isPausing = false
    /// True while an answer is on its way. No request is taken meanwhile.
    private var isAnswering = false
    private var endsAfterwards = false
    private var isEndless = false
    private var isClosed = false

    init(_ listener: StandInListener, _ descriptor: Int32, _ session: TLSSession?) {
        self.listener = listener
        self.descriptor = descriptor
        self.session = session
        watch = Watch(loop: listener.loop, descriptor: descriptor)
    }

    func start() {
        watch.handler = self
        if session == nil { begin(Transport(watch: watch)) } else { watch.enableReading() }
    }

    private func begin(_ transport: Transport) {
        self.transport = transport
        transport.setHandler(self)
        transport.enableReading()
    }

    private func end(_ ending: Transport.Ending) {
        guard !isClosed else { return }
        isClosed = true
        timer = nil
        stream?.end(isWhole: false)
        stream = nil
        if let transport {
            transport.close(ending)
        } else {
            watch.cancel()
            Socket.close(descriptor)
        }
        listener.remove(self)
    }

    // MARK: events

    func descriptorIsReadable() {
        if let session { return proceed(session) }
        guard let transport, !isClosed else { return }
        switch transport.read(into: &received, atMost: 64 * 1024) {
        case .bytes where received.count > Self.receivedByteCountMax: end(.cut)
        case .bytes: takeRequests()
        case .wouldBlock: break
        case .endOfFile: end(.complete)
        case .failed: end(.cut)
        }
    }

    func descriptorIsWritable() {
        if let session { return proceed(session) }
        flush()
    }

    private func proceed(_ session: TLSSession) {
        switch session.handshake(on: watch) {
        case .wantRead, .wantWrite: break
        case .failed: end(.cut)
        case .complete:
            self.session = nil
            begin(Transport(watch: watch, session: session))
        }
    }

    // MARK: requests

    private func takeRequests() {
        while !isAnswering, !isClosed {
            let outcome = head.parse(received.readable, limits: Self.limits)
            switch outcome {
            case .incomplete: return
            case .refused: return end(.cut)
            case .complete:
                let request = takeRequest()
                // If the body is not complete yet, the head is parsed again later, together with
                // it.
                head.reset()
                guard let request else { return }
                answer(request)
            }
        }
    }

    /// Takes a request. Nil if its body is not complete yet, or if it is not a request that a
    /// client would send here.
    private func takeRequest() -> HTTPRequest? {
        let bodyByteCount: Int
        switch head.framing {
        case .none: bodyByteCount = 0
        case .length(let count) where count <= UInt64(Self.bodyByteCountMax):
            bodyByteCount = Int(count)
        default:
            end(.cut)
            return nil
        }
        guard received.count >= head.byteCount + bodyByteCount else { return nil }
        let bytes = received.readable.array
        func text(_ range: Range32) -> String {
            String(decoding: bytes[Int(range.start)..<Int(range.end)], as: UTF8.self)
        }
        let bodyEnd = head.byteCount + bodyByteCount
        let request = HTTPRequest(
            method: text(head.method), target: text(head.originTarget),
            fields: head.fields.map { (text($0.name), text($0.value)) },
            body: Array(bytes[head.byteCount..<bodyEnd]))
        received.consume(bodyEnd)
        return request
    }

    private func answer(_ request: HTTPRequest) {
        isAnswering = true
        switch listener.answer(request) {
        case .reply(let reply): send(later: reply)
        case .stream(let stream): begin(stream)
        }
    }

    private func send(later reply: StandInReply) {
        guard reply.delay > .zero else { return send(reply) }
        let timer = Timer(loop: listener.loop) { [unowned self] in send(reply) }
        self.timer = timer
        timer.schedule(after: reply.delay)
    }

    // MARK: answers

    private func send(_ reply: StandInReply) {
        let body = reply.body
        switch reply.conduct {
        case .silent: return
        case .close: return end(.cut)
        case .garbage:
            unsent.append("\u{1}\u{2} this is no answer \u{3}\r\n\r\n")
            endsAfterwards = true
        case .whole: append(reply, body, count: body.count)
        case .cut:
            // An empty body would be complete.
            let longer = body.isEmpty ? [0x20, 0x20] : body
            append(reply, Array(longer.prefix(longer.count / 2)), count: longer.count)
            endsAfterwards = true
        case .endless:
            append(reply, body, count: nil)
            isEndless = true
        }
        flush()
    }

    private func append(_ reply: StandInReply, _ body: [UInt8], count: Int?) {
        var head = "HTTP/1.1 \(reply.status) \(reply.status)\r\nServer: stand-in\r\n"
        if let retryAfter = reply.retryAfter { head += "Retry-After: \(retryAfter)\r\n" }
        for field in reply.fields { head += "\(field.name): \(field.value)\r\n" }
        // 304 has neither body nor a length of one (RFC 9110 section 15.4.5).
        let isBodiless = reply.status == 304
        if let count, !isBodiless { head += "Content-Length: \(count)\r\n" }
        if count == nil { head += "Connection: close\r\n" }
        for byte in head.utf8 { unsent.append(byte) }
        unsent.append("\r\n")
        if !isBodiless { unsent.append(body.span) }
    }

    // MARK: streams

    private func begin(_ stream: any StandInStream) {
        self.stream = stream
        unsent.append("HTTP/1.1 200 200\r\nServer: stand-in\r\nTransfer-Encoding: chunked\r\n")
        unsent.append("Content-Type: \(stream.contentType)\r\n\r\n")
        if stream.interval > .zero {
            timer = Timer(loop: listener.loop) { [unowned self] in
                isPausing = false
                flush()
            }
        }
        flush()
    }

    /// Takes the next piece of the stream. False if there is no stream, or none is due.
    private func takePiece() -> Bool {
        guard let stream, !isPausing else { return false }
        if let piece = stream.next() {
            ChunkedEncoder.append(piece.span, to: &unsent)
            isPausing = stream.interval > .zero
            if isPausing { timer?.schedule(after: stream.interval) }
        } else {
            ChunkedEncoder.appendTerminator(to: &unsent)
            self.stream = nil
            stream.end(isWhole: true)
        }
        return true
    }

    // MARK: sending

    private func flush() {
        guard let transport, !isClosed else { return }
        while !unsent.isEmpty || isEndless || takePiece() {
            if unsent.isEmpty { unsent.append([UInt8](repeating: 0x78, count: 16 * 1024).span) }
            let outcome = transport.write(unsent.readable)
            switch outcome {
            case .bytes(let count): unsent.consume(count)
            case .wouldBlock: return transport.enableWriting()
            case .failed: return end(.cut)
            }
        }
        transport.disableWriting()
        if endsAfterwards { return end(.cut) }
        guard isAnswering, stream == nil else { return }
        isAnswering = false
        takeRequests()
    }
}
