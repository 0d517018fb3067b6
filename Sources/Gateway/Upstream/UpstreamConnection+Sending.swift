import Bytes
import EventLoop
import HTTP
import TLS

/// Sending a request: head and body from where the exchange holds them.
extension UpstreamConnection {
    /// Sends the exchange's request; the answer comes by the exchange's `upstream…` calls.
    func send(_ exchange: Exchange) {
        self.exchange = exchange
        sawAnswer = false
        isPaused = false
        interimCount = 0
        bodyOffset = 0
        isBodyEnded = false
        sentCount = 0
        writtenCount = 0
        writeFailure = nil
        if let connectFailure { return fail(connectFailure) }
        if state != .connecting { beginRequest() }
    }

    func beginRequest() {
        requestCount += 1
        state = .awaitingHead
        response.reset()
        setDeadline(headNanoseconds)
        if !isForCheck { server.meter.countRequest() }
        pool.worker.outbox.add(self)
    }

    var headNanoseconds: UInt64 {
        exchange?.headNanoseconds(pool.timeouts) ?? pool.timeouts.response
    }

    /// Sends what ``Outbox`` has gathered; the connection may have ended meanwhile. `isQuiet`: the
    /// kernel had nothing from the server a moment ago, nor its end.
    func sendRequest(isQuiet: Bool) {
        guard state == .awaitingHead || (state == .readingBody && exchange?.isStreaming == true)
        else { return }
        guard isQuiet || idleDescriptor == nil || isStillOpen else {
            return fail(.broken(description: "closed while it was idle"))
        }
        sendMore()
    }

    /// The descriptor, if the connection has served a request before and nothing of this one was
    /// written: the loop may tell only after that what the server has sent, and an assertion is
    /// spent by then.
    var idleDescriptor: Int32? {
        guard sentCount == 0, requestCount > 1, state == .awaitingHead else { return nil }
        return transport?.descriptor
    }

    /// Looks whether the server has ended the connection, or says something unasked, as some do
    /// before they end it. TLS may have had something to say that is no answer.
    private var isStillOpen: Bool {
        guard let transport else { return false }
        var scrap = ByteBuffer(pool: pool.worker.storage)
        if case .wouldBlock = transport.read(into: &scrap, atMost: 1) { return true }
        return false
    }

    func bodyCame() {
        if sentCount > 0 { pool.worker.outbox.addLater(self) }
    }

    /// Writes head and body as far as the kernel takes them.
    func sendMore() {
        guard let exchange, writeFailure == nil, sendHead(exchange) else { return }
        if exchange.isStreaming {
            guard sendStreamed(exchange) else { return }
        } else {
            guard sendMemory(exchange) else { return }
            if !exchange.body.isInMemory, !sendFile(exchange) { return }
        }
        transport?.disableWriting()
    }

    /// What has come of a body that goes on as it comes, in the framing that it has. False where
    /// the kernel takes no more for now.
    private func sendStreamed(_ exchange: Exchange) -> Bool {
        guard let transport else { return false }
        let isChunked = exchange.head.framing == .chunked
        while true {
            if pending.isEmpty {
                guard appendStreamed(exchange, isChunked: isChunked) else { return false }
                if pending.isEmpty { break }
            }
            guard let count = written(transport.write(pending.readable)) else { return false }
            pending.consume(count)
        }
        guard state == .awaitingHead else { return true }
        // The client's own pauses have their bound.
        if isBodyEnded { setDeadline(headNanoseconds) } else { deadline?.clear() }
        return true
    }

    /// What comes next waits in `pending`, which is empty, before the client goes on: more of its
    /// body then stands behind that. False where the client's next bytes have ended the exchange.
    private func appendStreamed(_ exchange: Exchange, isChunked: Bool) -> Bool {
        exchange.takeStreamed(atMost: Self.sendByteCount) { bytes in
            if isChunked {
                ChunkedEncoder.append(bytes, to: &pending)
            } else {
                pending.append(bytes)
            }
        }
        guard self.exchange === exchange, state != .closed else { return false }
        if exchange.isBodyComplete, exchange.bodyStream.isEmpty, !isBodyEnded {
            isBodyEnded = true
            if isChunked { ChunkedEncoder.appendTerminator(to: &pending) }
        }
        return true
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
        case .bytes(let count):
            writtenCount += count
            return count
        case .wouldBlock:
            transport?.enableWriting()
            if state == .awaitingHead { setDeadline(pool.timeouts.send) }
        case .failed(let code):
            // The answer may be waiting all the same: a server that refuses a body early.
            transport?.disableWriting()
            writeFailure = failureText(errno: code)
        }
        return nil
    }

    var isRequestSent: Bool {
        guard let exchange else { return true }
        return writeFailure == nil && sentCount >= exchange.upstreamHead.count
            && pending.isEmpty && bodyOffset >= exchange.body.byteCount
            && (isBodyEnded || !exchange.isStreaming)
    }

    static let sendByteCount = 64 * 1024
}
