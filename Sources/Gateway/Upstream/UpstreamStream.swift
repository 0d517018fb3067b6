import Bytes
import EventLoop
import HTTP
import HTTP2
import Judgement
import Settings

/// One request on a ``MultiplexedConnection``, and the answer to it.
final class UpstreamStream: RequestSink, DeadlineHandler {
    let connection: MultiplexedConnection
    /// The stream's id, or nil until the request is sent.
    private(set) var id: Int32?
    /// True if the connection had served another request before.
    private let wasReused: Bool
    private var request: (any UpstreamRequest)?
    /// The deadline, or nil once the stream has given its place back.
    private var deadline: Deadline?
    private var response = ResponseHead()
    private var interimCount = 0
    private var trailers: TrailerSection?
    private var sawAnswer = false
    private var hasHead = false
    /// The part of an answer that is held back because the answer may not have the announced
    /// length.
    private var tail = AnswerTail()
    /// The window that the server gets back when the client has taken the bytes that fill it.
    private var keptByteCount = 0
    /// True if the client is slower than the server.
    private var isPaused = false

    // The progress of sending, from the places where the request holds its bytes.
    private var bodyOffset = 0
    private var isBodyEnded = false
    private var sentByteCount = 0
    /// True if the server has taken all bytes that could be had of a body in a file.
    private var isFileAwaited = false

    private var session: HTTP2ClientSession { connection.session }
    private var pool: UpstreamPool { connection.pool }
    var server: PooledServer { connection.server }
    var protocolVersion: StaticString { "2" }

    init(connection: MultiplexedConnection, wasReused: Bool) {
        self.connection = connection
        self.wasReused = wasReused
        deadline = Deadline(wheel: connection.pool.deadlines, handler: self)
    }

    // MARK: the request

    func send(_ request: any UpstreamRequest) {
        self.request = request
        connection.begin(self)
    }

    /// Submits the head. Nil if the connection accepts no more.
    func submit() -> Int32? {
        guard let request else { return nil }
        let scheme: StaticString = pool.settings.tls == nil ? "http" : "https"
        let isTaken = request.withHead { session.fields.append(requestHead: $0, scheme: scheme) }
        guard isTaken else {
            session.fields.clear()
            return nil
        }
        if request.takesTrailers { session.fields.append("te", "trailers") }
        appendTrailerNames(request)
        let hasContent =
            request.bodyPlace.isStream || request.bodyByteCount > 0 || request.hasTrailers
        isBodyEnded = !hasContent
        id = session.submitRequest(hasContent: hasContent)
        if id != nil { setSendDeadline() }
        return id
    }

    private func appendTrailerNames(_ request: any UpstreamRequest) {
        guard request.bodyPlace.isStream || request.hasTrailers else { return }
        request.forEachTrailerName { session.fields.append("trailer", $0) }
    }

    func bodyCame() {
        guard id != nil, !isBodyEnded else { return }
        connection.addSending(self)
        connection.scheduleFlush()
    }

    /// Submits the next pieces of the body, as the server takes them.
    func pump() {
        guard let id, let request, session.isOpen(id) else { return }
        if !isBodyEnded { give(request, id) }
        if isSending { connection.addSending(self) }
        updateSendDeadline(id)
    }

    private func give(_ request: any UpstreamRequest, _ id: Int32) {
        while session.waitingByteCount(stream: id) < Self.pieceByteCount {
            guard appendPiece(request, id) else { break }
        }
        // The request may have been refused for bytes that its client sent meanwhile.
        guard self.request === request else { return }
        let isWhole =
            request.bodyPlace.isStream
            ? request.isStreamEnded : bodyOffset >= request.bodyByteCount
        if isWhole {
            isBodyEnded = true
            var hasTrailers = false
            request.forEachRequestTrailer { field, bytes in
                session.fields.append(bytes.extracting(field.name), bytes.extracting(field.value))
                hasTrailers = true
            }
            session.endContent(stream: id, hasTrailers: hasTrailers)
        }
    }

    /// Appends a piece. False if nothing more is at hand.
    private func appendPiece(_ request: any UpstreamRequest, _ id: Int32) -> Bool {
        let session = session
        if request.bodyPlace.isStream {
            let count = request.takeStreamed(atMost: Self.pieceByteCount) { bytes in
                session.append(bytes, stream: id)
            }
            return count > 0 && self.request === request
        }
        let offset = bodyOffset
        let count = min(Self.pieceByteCount, request.bodyByteCount - offset)
        guard count > 0 else { return false }
        if request.bodyPlace != .file {
            request.withBody { body in
                session.append(body.extracting(offset..<offset + count), stream: id)
            }
            bodyOffset += count
            return true
        }
        let atHand = request.bodyAtHand(from: offset)
        isFileAwaited = atHand == 0
        guard atHand > 0 else { return false }
        var piece = ByteBuffer()
        do throws(IOError) {
            let read = try request.readBody(at: offset, into: &piece, atMost: min(count, atHand))
            guard read > 0 else { throw IOError("body", .notRegular) }
        } catch {
            request.bodyFailed(error)
            return false
        }
        bodyOffset += piece.count
        session.append(piece.readable, stream: id)
        return true
    }

    /// True if a part of the request still waits for the server's windows.
    private var isSending: Bool {
        guard let id else { return false }
        return session.waitingByteCount(stream: id) > 0
            || (!isBodyEnded && request?.bodyPlace.isStream == false)
    }

    // MARK: time-outs

    private func setSendDeadline() {
        guard !hasHead else { return }
        if isFileAwaited {
            // The server has no influence on that wait.
            deadline?.clear()
        } else if isSending {
            deadline?.set(afterNanoseconds: pool.timeouts.send)
        } else if isBodyEnded {
            deadline?.set(afterNanoseconds: headNanoseconds)
        } else {
            // The client's own pauses have their bound.
            deadline?.clear()
        }
    }

    /// Sets the deadline for sending. Progress gives the server its time again.
    private func updateSendDeadline(_ id: Int32) {
        let framed = session.framedByteCount(stream: id)
        let hasProgress = framed != sentByteCount
        sentByteCount = framed
        if hasHead {
            if hasProgress, !isPaused { setReadDeadline() }
        } else if hasProgress || !isSending || deadline?.isSet != true {
            setSendDeadline()
        }
    }

    private var headNanoseconds: UInt64 {
        request?.headNanoseconds(pool.timeouts) ?? pool.timeouts.response
    }

    private func setReadDeadline() {
        let nanoseconds =
            request?.bodyNanoseconds(pool.timeouts, isTunnel: false) ?? pool.timeouts.read
        deadline?.set(afterNanoseconds: nanoseconds)
    }

    func deadlineExpired() {
        let failure: UpstreamFailure =
            hasHead ? .readTimeout : isSending ? .sendTimeout : .responseTimeout
        fail(failure, isUnsent: false)
    }

    // MARK: the answer

    func receiveHead(_ event: HeadEvent) {
        guard let request else { return }
        sawAnswer = true
        response.reset()
        let bytes = event.bytes
        let outcome: HeadOutcome =
            event.isTooLarge
            ? .refused(HTTPRefusal(response: .headTooLarge))
            : response.parse(
                bytes.span, limits: pool.responseHeadLimits,
                requestMethodKind: request.methodKind)
        switch outcome {
        case .complete
        where response.byteCount == bytes.count && response.fields.count == event.fieldCount:
            break
        case .complete, .incomplete: return fail(.malformed(code: "http2_ambiguous"))
        case .refused(let refusal):
            return fail(.malformed(code: refusal.reason.code.description))
        }
        guard response.status >= 200 else {
            interimCount += 1
            guard interimCount <= UpstreamConnection.interimCountMax else {
                return fail(.malformed(code: "too_many_interim_answers"))
            }
            return request.upstreamSentInterim(response, bytes: bytes.span)
        }
        hasHead = true
        if event.isEnd { response.endsWithHead() }
        if !connection.isForCheck {
            pool.serverAnswered(server, startedAt: request.sentAt)
        }
        setReadDeadline()
        guard !tail.keeps(event, framing: response.framing) else { return }
        if !request.upstreamSentHead(response, bytes: bytes.span) { request.refuseLargeHead() }
    }

    /// True if the server has to wait before it sends more on this stream.
    func receiveBody(_ bytes: Span<UInt8>) -> Bool {
        guard let request, !bytes.isEmpty else { return false }
        guard request.upstreamSentBody(tail.cut(bytes, framing: response.framing)) else {
            isPaused = true
            keptByteCount += bytes.count
            // The client's own send time-out bounds this wait.
            deadline?.clear()
            return true
        }
        // These bytes were under way when the client fell behind; it may have caught up meanwhile.
        resumeReading()
        setReadDeadline()
        return false
    }

    func receiveTrailers(_ bytes: [UInt8], isTooLarge: Bool) {
        do throws(HTTPFault) {
            guard !isTooLarge else { throw .trailersTooLarge }
            trailers = try TrailerSection(parsing: bytes)
        } catch {
            fail(.malformed(code: error.code.description))
        }
    }

    /// Tells the client's connection that it has all bytes of this turn and may write them.
    func handOver() { request?.upstreamPaused() }

    func resumeReading() {
        guard isPaused, let id else { return }
        isPaused = false
        session.giveWindow(stream: id, byteCount: keptByteCount)
        keptByteCount = 0
        setReadDeadline()
        connection.scheduleFlush()
    }

    // MARK: the end of the stream

    func complete() {
        guard let request else { return }
        let trailers = trailers
        if let head = tail.takeHead() {
            if trailers != nil { response.noteTrailers() }
            let isTaken = request.upstreamSentHead(response, bytes: head.bytes.span)
            if !isTaken { request.refuseLargeHead() }
        }
        if self.request != nil, let last = tail.takeByte() {
            _ = request.upstreamSentBody(last.span)
        }
        // The client may just have been found gone.
        guard self.request != nil else { return }
        leave()
        request.upstreamEnded(trailers)
    }

    func fail(_ failure: HTTP2StreamFailure) {
        switch failure {
        case .refused: fail(.refused(description: "by the server"), isUnsent: true)
        case .reset(let code): fail(.broken(description: "reset with code \(code)"))
        case .malformed: fail(.malformed(code: "http2_malformed"))
        }
    }

    /// - Parameters:
    ///   - isUnsent: true if no byte of the request has left, or if the server has not acted on it.
    ///   - isCounted: true if the server's failure has been counted already.
    func fail(_ failure: UpstreamFailure, isUnsent: Bool = false, isCounted: Bool = false) {
        guard let request else { return }
        leave()
        // A server may refuse requests that are too many at once, and end a connection at any time.
        let isServersFault =
            !isCounted && !failure.isRefusal && !(wasReused && !sawAnswer && failure.isBreak)
        if isServersFault, !connection.isForCheck { pool.serverFailed(server, failure) }
        request.upstreamFailed(
            failure, wasReused: wasReused, isUnsent: isUnsent, sawAnswer: sawAnswer)
    }

    var hasSent: Bool { id.map { !session.isUnsent($0) } ?? false }

    func abandon() { leave() }

    /// There was no place after all: the request looks for another one, and this does not count as
    /// a try.
    func goElsewhere() {
        guard let request else { return }
        leave()
        request.upstreamHadNoPlace()
    }

    /// Gives the place back, once: also that of a request whose client left before it was sent.
    private func leave() {
        guard let deadline else { return }
        request = nil
        deadline.clear()
        self.deadline = nil
        connection.release(self)
    }

    /// The bytes of one piece of a body.
    private static let pieceByteCount = 64 * 1024
}
