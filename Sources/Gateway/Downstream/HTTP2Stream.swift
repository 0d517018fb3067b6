import Bytes
import EventLoop
import HTTP
import HTTP2
import Judgement
import Settings
import TLS

/// One request of an ``HTTP2Connection`` and the answer to it.
final class HTTP2Stream: ClientStream, DeadlineHandler {
    private let id: Int32
    private let connection: HTTP2Connection
    /// The connection's own. Asked for there, it would be retained for each of a dozen calls.
    let session: HTTP2Session
    private var exchange: Exchange?
    /// Made for the stream's first wait: most have none.
    private var deadline: Deadline?
    private var isBodyComplete = false
    private var trailers: TrailerSection?
    private(set) var isContinueOwed = false
    private var isUpstreamPaused = false
    /// The window that the client gets back when the upstream has taken the bytes that fill it.
    private var keptByteCount = 0
    /// True if the answer has been submitted as far as it has come.
    private var hasAnswer = false
    /// True if the complete answer is on its way; further bytes of the request are thrown away.
    private var isAnsweredEarly = false
    /// The pace at which the client takes the bytes that wait on this stream.
    private var readerPace = ReaderPace()

    var worker: Worker { connection.worker }
    var services: WorkerServices { connection.services }

    init(id: Int32, connection: HTTP2Connection, exchange: Exchange) {
        self.id = id
        self.connection = connection
        session = connection.session
        self.exchange = exchange
    }

    private func setDeadline(_ nanoseconds: UInt64) {
        let deadline = deadline ?? Deadline(wheel: services.deadlines, handler: self)
        self.deadline = deadline
        deadline.set(afterNanoseconds: nanoseconds)
    }

    // MARK: the request

    /// - Parameter exchange: the stream's own.
    func begin(_ event: HeadEvent, _ exchange: Exchange) {
        worker.streams.giveBack(head: exchange.intake.replaceHead(with: event.bytes))
        isBodyComplete = event.isEnd
        exchange.intake.beginBody(at: exchange.arrival.startedAt, isComplete: event.isEnd)
        switch parse(event, exchange) {
        case .refused(let refusal):
            exchange.intake.refuseHead(Refusal(refusal.gatewayReason, .httpFault(refusal.reason)))
        case .complete
        where exchange.intake.head.byteCount == event.bytes.count
            && exchange.intake.head.fields.count == event.fieldCount:
            isContinueOwed = exchange.intake.head.expectsContinue
            exchange.advance()
            // How long depends on the route.
            awaitBody()
        case .complete, .incomplete:
            // Another message than the one that was taken apart: it must not pass.
            exchange.intake.refuseHead(Refusal(.badRequest, .http2Ambiguous))
        }
    }

    /// Parses the head, with the parser of HTTP/1.1, so that one parser judges the requests of both
    /// protocols.
    private func parse(_ event: HeadEvent, _ exchange: Exchange) -> HeadOutcome {
        if event.isTooLarge { return .refused(HTTPRefusal(request: .headTooLarge)) }
        let bytes = event.bytes
        return exchange.intake.parseHead(bytes.span)
    }

    /// Passes on the next bytes of the body. The caller refuses the request, because a view into
    /// the bytes is open here.
    func receive(_ bytes: Span<UInt8>) -> (refusal: Refusal?, keepsWindow: Bool) {
        guard let exchange, !isBodyComplete else { return (nil, false) }
        isContinueOwed = false
        let refusal = exchange.intake.receiveBody(bytes)
        let isHeldBack = refusal == nil && exchange.intake.holdsClientBack()
        if isHeldBack { keptByteCount += bytes.count }
        awaitBody()
        return (refusal, isHeldBack)
    }

    func resumeBody() {
        guard keptByteCount > 0 else { return }
        session.giveWindow(stream: id, byteCount: keptByteCount)
        keptByteCount = 0
        awaitBody()
        connection.scheduleFlush()
    }

    /// Takes the fields after the body; its end follows.
    func receiveTrailers(_ bytes: [UInt8], isTooLarge: Bool) {
        guard exchange != nil, !isBodyComplete else { return }
        do throws(HTTPFault) {
            guard !isTooLarge else { throw .trailersTooLarge }
            trailers = try TrailerSection(parsing: bytes)
        } catch {
            let reason = HTTPRefusal(request: error).gatewayReason
            refuse(Refusal(reason, .httpFault(error)))
        }
    }

    func bodyWasTaken(_ refusal: Refusal?) {
        if let refusal { refuse(refusal) }
    }

    private func refuse(_ refusal: Refusal) {
        exchange?.refuse(refusal)
    }

    func endBody() {
        guard !isBodyComplete else { return }
        isBodyComplete = true
        isContinueOwed = false
        if !hasAnswer { deadline?.clear() }
        exchange?.intake.endBody(trailers)
    }

    /// The client sends no more. If the request is not complete, it never will be.
    func clientEnded() {
        guard session.isOpen(id) else { return }
        if isBodyComplete, exchange?.intake.endsWithClient != true { return }
        lose()
    }

    /// Bounds the wait for more of the body.
    private func awaitBody() {
        guard !hasAnswer, !isBodyComplete, let exchange else { return }
        if let patience = exchange.intake.bodyPatience {
            setDeadline(patience)
        } else {
            deadline?.clear()
        }
    }

    // MARK: the end of the stream

    /// The answer is complete and the request is not. The client gets time to read the answer
    /// before it is told to stop sending, because some clients throw away what came before
    /// RST_STREAM (curl before version 8). Its window is not opened again.
    func answeredEarly() {
        isAnsweredEarly = true
        setDeadline(Lingering.timeout.wholeNanoseconds)
    }

    /// The stream is gone. If its answer was not complete, the client does not wait for it any
    /// more.
    func close() {
        deadline?.clear()
        guard let lost = exchange else { return }
        exchange = nil
        if lost.number != 0 { lost.downstreamIsLost() }
    }

    func deadlineExpired() {
        if isAnsweredEarly {
            session.stopRequest(stream: id)
            connection.scheduleFlush()
        } else if hasAnswer {
            checkClient()
        } else if !isBodyComplete {
            exchange?.refuse(Refusal(.requestTimeout))
        }
    }

    /// Times a client that takes none of the waiting bytes, or takes them too slowly.
    func clientIsAwaited() {
        guard hasAnswer, deadline?.isSet != true, session.waitingByteCount(stream: id) > 0
        else { return }
        setDeadline(readerRest(isDue: false))
    }

    /// Checks a client for which bytes have waited long. Bytes that were made into frames count as
    /// taken: while the client's window is closed, none are made.
    private func checkClient() {
        guard session.waitingByteCount(stream: id) > 0 else { return }
        let rest = readerRest(isDue: true)
        guard rest > 0 else {
            exchange?.judge.note(.check(.slowReader))
            return abortResponse()
        }
        deadline?.set(at: readerPace.due)
    }

    private func readerRest(isDue: Bool) -> UInt64 {
        let site = services.site
        return readerPace.rest(
            site.responsePace, send: site.timeouts.send, now: services.loop.now,
            queued: session.waitingByteCount(stream: id), isDue: isDue)
    }

    /// The client took the bytes that were waiting for it.
    func clientIsReady() {
        guard isUpstreamPaused else { return }
        isUpstreamPaused = false
        exchange?.forwarder.clientIsReady()
    }
}

/// Writes answers in HTTP/2 (RFC 9113 section 8.1).
extension HTTP2Stream: ResponseSink {
    var peerText: String { connection.peerText }
    var transport: Transport? { connection.transport }

    func sendContinue() {
        isContinueOwed = false
        session.fields.append(":status", decimal: 100)
        session.submitInterim(stream: id)
        awaitBody()
        connection.scheduleFlush()
    }

    func respond(_ response: LocalResponse) {
        guard let exchange else { return }
        session.fields.append(":status", decimal: UInt64(response.status))
        appendDate()
        if let contentType = response.contentType {
            session.fields.append("content-type", contentType)
        }
        for field in response.fields {
            session.fields.append(field.name, field.value.span)
        }
        for field in response.verdict {
            let name = ASCII.lowercased(field.name.span)
            session.fields.append(name.span, field.value.span)
        }
        if exchange.recorder.tellsRequestID(isOfRoute: response.isOfRoute) {
            appendRequestID(exchange)
        }
        if response.isOfRoute { append(exchange.intake.match.handling?.responseEdits, exchange) }
        appendAttestation(exchange, exchange.recorder.personalFields(in: response))
        // RFC 9110 section 8.6: an answer that cannot have a body has no length.
        if response.status != 204 {
            session.fields.append("content-length", decimal: UInt64(response.body.count))
        }
        let hasContent = !exchange.checkCall.isAnswerBodiless && !response.body.isEmpty
        session.submitHead(stream: id, hasContent: hasContent)
        answerBegan()
        if hasContent {
            append(response.body.span)
            session.endContent(stream: id)
        }
    }

    func relayInterim(_ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange) {
        session.fields.append(":status", decimal: UInt64(head.status))
        _ = appendFields(head, bytes: bytes, of: exchange)
        guard session.takesFields else { return session.fields.clear() }
        session.submitInterim(stream: id)
    }

    func relayHead(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange
    ) -> Bool {
        session.fields.append(":status", decimal: UInt64(head.status))
        let edits = exchange.intake.match.handling?.responseEdits
        if !appendFields(head, bytes: bytes, of: exchange) { appendDate() }
        if let version = exchange.rewriter.answerVersion { appendVia(version) }
        if exchange.recorder.tellsRequestID() { appendRequestID(exchange) }
        append(edits, exchange)
        appendAttestation(exchange, exchange.recorder.personalFields(in: head, bytes: bytes))
        for field in exchange.accountant.fields {
            session.fields.append(field.name, field.value.span)
        }
        // HEAD and 304: the length of what GET would have got (RFC 9110 section 8.6).
        if let length = head.contentLength, head.status != 204 {
            session.fields.append("content-length", decimal: length)
        }
        guard session.takesFields else {
            session.fields.clear()
            return false
        }
        let endsHere = head.framing == .none || (head.framing == .length(0) && !head.hasTrailers)
        session.submitHead(stream: id, hasContent: !endsHere)
        answerBegan()
        return true
    }

    func relayBody(_ bytes: Span<UInt8>) -> Bool {
        guard !bytes.isEmpty else { return true }
        append(bytes)
        return room() > 0
    }

    func relayBody(_ byteCount: Int, outOf buffer: inout ByteBuffer) -> Bool {
        guard byteCount > 0 else { return true }
        append(byteCount) { session.append(byteCount, outOf: &buffer, stream: id) }
        return room() > 0
    }

    func room() -> Int {
        let byteCount = connection.room(for: id)
        isUpstreamPaused = byteCount == 0
        return byteCount
    }

    func flushResponse() {
        connection.scheduleFlush()
    }

    func relayTrailers(_ trailers: TrailerSection, of exchange: Exchange) {
        var hasTrailers = false
        exchange.recorder.forEachTrailer(of: trailers) { field, bytes in
            session.fields.append(bytes.extracting(field.name), bytes.extracting(field.value))
            hasTrailers = true
        }
        session.endContent(stream: id, hasTrailers: hasTrailers)
    }

    func endResponse() {
        session.endContent(stream: id)
    }

    func refuseRequest() -> Bool {
        session.refuse(stream: id)
        connection.scheduleFlush()
        return true
    }

    func abortResponse() {
        session.reset(stream: id)
        connection.scheduleFlush()
    }

    func lose() {
        abortResponse()
        // Now, not once the reset has gone out: a client that has left may never read again.
        close()
    }

    func exchangeEnded() {
        connection.scheduleFlush()
        guard let exchange else { return }
        self.exchange = nil
        worker.giveBack(exchange)
    }

    private func answerBegan() {
        hasAnswer = true
        deadline?.clear()
    }

    /// Appends bytes of the answer. What the client does not take at once, ``clientIsAwaited()``
    /// bounds.
    private func append(_ bytes: Span<UInt8>) {
        append(bytes.count) { session.append(bytes, stream: id) }
    }

    private func append(_ byteCount: Int, _ give: () -> Void) {
        // The client has caught up: its pace is measured anew from now on.
        if session.waitingByteCount(stream: id) == 0 {
            readerPace.begin(now: services.loop.now, queued: 0)
        }
        readerPace.wrote(byteCount)
        give()
        connection.scheduleFlush()
    }
}
