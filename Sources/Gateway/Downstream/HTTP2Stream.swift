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
    private var exchange: Exchange?
    private let deadline: Deadline
    private var isBodyComplete = false
    private var trailers: TrailerSection?
    private var isContinueOwed = false
    private var isUpstreamPaused = false
    /// The window that the client gets back when the upstream has taken the bytes that fill it.
    private var keptByteCount = 0
    /// True if the answer has been submitted as far as it has come.
    private var hasAnswer = false
    /// True if the complete answer is on its way; further bytes of the request are thrown away.
    private var isAnsweredEarly = false
    /// The pace at which the client takes the bytes that wait on this stream.
    private var readerPace = ReaderPace()

    private var session: HTTP2Session { connection.session }
    private var worker: Worker { connection.worker }
    private var services: WorkerServices { connection.services }

    init(id: Int32, connection: HTTP2Connection, exchange: Exchange) {
        self.id = id
        self.connection = connection
        self.exchange = exchange
        deadline = Deadline(wheel: connection.services.deadlines)
        deadline.handler = self
    }

    // MARK: the request

    func begin(_ event: HeadEvent) {
        guard let exchange else { return }
        // The client has reset the stream at once, so nothing is done for it (CVE-2023-44487).
        guard session.isOpen(id) else { return }
        exchange.intake.replaceHead(with: event.bytes)
        isBodyComplete = event.isEnd
        exchange.intake.beginBody(at: exchange.arrival.startedAt, isComplete: event.isEnd)
        switch parse(event, exchange) {
        case .refused(let refusal):
            exchange.intake.refuseHead(Refusal(refusal.gatewayReason, .httpFault(refusal.reason)))
        case .complete
        where exchange.intake.head.byteCount == event.bytes.count
            && exchange.intake.head.fields.count == event.fieldCount:
            isContinueOwed = exchange.intake.head.expectsContinue
            if !isBodyComplete { awaitBody() }
            exchange.advance()
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
    func receiveTrailers(_ bytes: [UInt8]) {
        guard exchange != nil, !isBodyComplete else { return }
        do throws(HTTPFault) {
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
        if !hasAnswer { deadline.clear() }
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
            deadline.set(afterNanoseconds: patience)
        } else {
            deadline.clear()
        }
    }

    // MARK: the end of the stream

    /// The answer is complete and the request is not. The client gets time to read the answer
    /// before it is told to stop sending, because some clients throw away what came before
    /// RST_STREAM (curl before version 8). Its window is not opened again.
    func answeredEarly() {
        isAnsweredEarly = true
        deadline.set(afterNanoseconds: Lingering.timeout.wholeNanoseconds)
    }

    /// The stream is gone. If its answer was not complete, the client does not wait for it any
    /// more.
    func close() {
        deadline.clear()
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

    /// Checks a client for which bytes have waited long. Bytes that were made into frames count as
    /// taken: while the client's window is closed, none are made.
    private func checkClient() {
        guard session.waitingByteCount(stream: id) > 0 else { return }
        let rest = readerRest(isDue: true)
        guard rest > 0 else {
            exchange?.judge.note(.check(.slowReader))
            return abortResponse()
        }
        deadline.set(at: readerPace.due)
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

    func wantsBody() {
        guard isContinueOwed else { return }
        isContinueOwed = false
        session.fields.append(":status", decimal: 100)
        session.submitInterim(stream: id)
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
        let hasContent = head.framing != .none && head.framing != .length(0)
        session.submitHead(stream: id, hasContent: hasContent)
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
        deadline.clear()
    }

    /// Appends bytes of the answer. Resets the stream of a client that takes none of the waiting
    /// bytes, or takes them too slowly.
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
        if !deadline.isSet { deadline.set(afterNanoseconds: readerRest(isDue: false)) }
    }

    /// Appends the fields that the route sets and adds.
    private func append(_ edits: FieldEdits?, _ exchange: Exchange) {
        guard let edits else { return }
        for line in edits.lines {
            session.fields.append(line.name.span) { exchange.rewriter.append(line.value, to: &$0) }
        }
    }

    private func appendVia(_ version: StaticString) {
        session.fields.append("via") { value in
            value.append(version)
            value.append(" ")
            value.append(Via.clientsName)
        }
    }

    private func appendRequestID(_ exchange: Exchange) {
        // Of no use to the answers that follow: their table keeps what they share.
        let name = Recorder.requestIDField
        session.fields.append(name.span, isIndexed: false) { value in
            exchange.rewriter.appendRequestID(to: &value)
        }
    }

    private func appendDate() {
        session.fields.append("date") { worker.clock.appendHTTPDate(to: &$0) }
    }

    private func appendAttestation(_ exchange: Exchange, _ fields: PersonalFields) {
        let part = PersonalPart(fields, of: exchange)
        if part.isPrivate { session.fields.append("cache-control", "private") }
        if part.isOutdated {
            let action = Array("update_app".utf8)
            session.fields.append("x-app-attest-action", action.span)
        }
        guard let challenge = part.challenge else { return }
        session.fields.append("x-app-attest-challenge", isIndexed: false) { value in
            services.seal(challenge, into: &value)
        }
    }

    /// Appends the end-to-end fields of an upstream's answer. True if one of them is `Date`.
    private func appendFields(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange
    ) -> Bool {
        exchange.recorder.forEachField(of: head, bytes, hasTrailers: true) { field, bytes in
            session.fields.append(bytes.extracting(field.name), bytes.extracting(field.value))
        }
    }
}
