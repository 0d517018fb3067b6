import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

/// The way in which the current answer's body is delimited on the wire (RFC 9112 section 6).
enum ResponseFraming {
    /// `Content-Length`, or no body at all.
    case length
    case chunked
    /// `Transfer-Encoding: chunked`, for a client that accepts trailers.
    case chunkedWithTrailers
    /// The end of the connection ends the body: HTTP/1.0 clients.
    case close

    var isChunked: Bool { self == .chunked || self == .chunkedWithTrailers }
}

/// Writes answers in HTTP/1.1, or in 1.0 if the request came in it.
extension HTTP1Connection: ResponseSink {
    func sendContinue() {
        isContinueOwed = false
        output.append("HTTP/1.1 100 Continue\r\n\r\n")
        setBodyDeadline()
        flush()
    }

    func respond(_ response: LocalResponse) {
        guard let exchange, state == .exchanging else { return }
        decidePersistence(exchange)
        output.append(statusLine: response.status)
        worker.clock.appendDateLine(to: &output)
        if let contentType = response.contentType {
            output.append("Content-Type: ")
            output.append(contentType)
            output.append("\r\n")
        }
        response.appendFields(to: &output)
        exchange.recorder.appendRequestIDLine(isOfRoute: response.isOfRoute, to: &output)
        if response.isOfRoute, let edits = exchange.intake.match.handling?.responseEdits {
            exchange.rewriter.append(edits, to: &output)
        }
        output.append(attestation: exchange.recorder.personalFields(in: response), of: exchange)
        // RFC 9110 section 8.6: an answer that cannot have a body has no length.
        if response.status != 204 {
            output.append(contentLength: UInt64(response.body.count))
        }
        appendConnection(exchange)
        output.append("\r\n")
        if !exchange.checkCall.isAnswerBodiless { output.append(response.body) }
    }

    /// Ends the connection after an answer that was given before the body was read, unless the rest
    /// of the body is small: reading a little is cheaper than another handshake.
    private func decidePersistence(_ exchange: Exchange) {
        guard !bodyReader.isComplete else { return }
        // A client that was not asked for the body may or may not send it.
        if !isContinueOwed, let rest = bodyReader.remainingByteCount, rest <= input.count {
            input.consume(rest)
        } else {
            isPersistent = false
        }
        bodyReader.end()
    }

    func relayInterim(_ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange) {
        guard exchange.intake.head.version == .http11, state == .exchanging else { return }
        output.append(statusLine: head.status, reason: bytes.extracting(head.reason))
        appendFields(head, bytes: bytes, hasTrailers: false, of: exchange)
        output.append("\r\n")
    }

    func relayHead(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange
    ) -> Bool {
        guard state == .exchanging else { return true }
        output.reserve(bytes.count + 256)
        output.append(statusLine: head.status, reason: bytes.extracting(head.reason))
        let edits = exchange.intake.match.handling?.responseEdits
        let isDelimited = head.framing == .chunked || head.framing == .untilClose
        let takesTrailers = isDelimited && exchange.recorder.takesTrailers
        if !appendFields(head, bytes: bytes, hasTrailers: takesTrailers, of: exchange) {
            worker.clock.appendDateLine(to: &output)
        }
        if let version = exchange.rewriter.answerVersion { output.append(via: version) }
        exchange.recorder.appendRequestIDLine(isOfRoute: true, to: &output)
        if let edits { exchange.rewriter.append(edits, to: &output) }
        output.append(
            attestation: exchange.recorder.personalFields(in: head, bytes: bytes), of: exchange)
        for field in exchange.accountant.fields { output.append(field: field.name, field.value) }
        switch head.framing {
        case .none:
            responseFraming = .length
            // HEAD and 304: the length of what GET would have got (RFC 9110 section 8.6).
            if let length = head.contentLength, head.status != 204 {
                output.append(contentLength: length)
            }
        case .length(let length):
            responseFraming = .length
            output.append(contentLength: length)
        case .chunked, .untilClose:
            if exchange.intake.head.version == .http11 {
                responseFraming = takesTrailers ? .chunkedWithTrailers : .chunked
                output.append("Transfer-Encoding: chunked\r\n")
            } else {
                responseFraming = .close
                isPersistent = false
            }
        }
        if !bodyReader.isComplete { answerBeganEarly() }
        appendConnection(exchange)
        output.append("\r\n")
        return true
    }

    /// The answer begins before the body is complete. From now on the wait for more of the body has
    /// no bound, and the connection ends with this answer, which says so.
    private func answerBeganEarly() {
        isPersistent = false
        setBodyDeadline()
    }

    func relayBody(_ bytes: Span<UInt8>) -> Bool {
        guard !bytes.isEmpty else { return true }
        guard responseFraming.isChunked else { return writeThrough(bytes) }
        ChunkedEncoder.appendHead(byteCount: bytes.count, to: &output)
        let isReady = writeThrough(bytes)
        if state != .closed { ChunkedEncoder.appendEnd(to: &output) }
        return isReady
    }

    /// The room for more of the answer.
    func room() -> Int { .max }

    func flushResponse() {
        flush()
        // The kernel may have taken all of it, and then there is no event for that.
        resumeUpstream()
    }

    /// Lets the upstream go on if the client has taken everything that made it wait.
    func resumeUpstream() {
        guard isUpstreamPaused, output.isEmpty, state == .exchanging else { return }
        isUpstreamPaused = false
        exchange?.forwarder.clientIsReady()
    }

    func relayTrailers(_ trailers: TrailerSection, of exchange: Exchange) {
        guard responseFraming == .chunkedWithTrailers else { return }
        ChunkedEncoder.appendLastChunk(to: &output)
        exchange.recorder.forEachTrailer(of: trailers) { field, bytes in
            output.append(line: field, of: bytes)
        }
        output.append("\r\n")
        responseFraming = .length
    }

    func endResponse() {
        if responseFraming.isChunked { ChunkedEncoder.appendTerminator(to: &output) }
        responseFraming = .length
    }

    func abortResponse() {
        // The rest of the answer cannot come. A close in the middle of the body says so (RFC 9112
        // section 8); if a close would end the body, a reset does.
        flush()
        close(responseFraming == .close ? .reset : .cut)
    }

    /// Appends the end-to-end fields of an upstream's answer. True if one of them is `Date`.
    @discardableResult
    private func appendFields(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>, hasTrailers: Bool,
        of exchange: Exchange
    ) -> Bool {
        exchange.recorder.forEachField(of: head, bytes, hasTrailers: hasTrailers) { field, bytes in
            output.append(line: field, of: bytes)
        }
    }

    private func appendConnection(_ exchange: Exchange) {
        if exchange.forwarder.tunnel.isOpen {
            isPersistent = false
            output.append("Connection: Upgrade\r\nUpgrade: websocket\r\n")
            if ending == .atOnce { endTunnelSoon() }
            return
        }
        // The client may have sent what was meant for a tunnel: it must not be read as requests.
        if worker.endsConnections || ending != .none || exchange.forwarder.tunnel.isAsked {
            isPersistent = false
        }
        if !isPersistent {
            output.append("Connection: close\r\n")
        } else if exchange.intake.head.version == .http10 {
            output.append("Connection: keep-alive\r\n")
        }
    }
}

extension ByteBuffer {
    /// Appends the fields that are for this client alone.
    fileprivate mutating func append(attestation fields: PersonalFields, of exchange: Exchange) {
        let part = PersonalPart(fields, of: exchange)
        if part.isPrivate { append("Cache-Control: private\r\n") }
        if part.isOutdated { append("X-App-Attest-Action: update_app\r\n") }
        guard let challenge = part.challenge else { return }
        append("X-App-Attest-Challenge: ")
        exchange.services.seal(challenge, into: &self)
        append("\r\n")
    }
}

extension HTTPRefusal {
    /// The gateway's reason for a refusal of the parser.
    var gatewayReason: Reason {
        switch status {
        case 414: .targetTooLong
        case 417: .expectationFailed
        case 431: .headTooLarge
        case 501: .notImplemented
        case 505: .versionNotSupported
        default: .badRequest
        }
    }
}
