import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

extension Forwarder {
    /// Gives up the upstream's connection, or the wait for one.
    func abandon() {
        if exchange.quotaUse != nil { accountant.noteSent(state.upstream?.hasSent == true) }
        state.upstream?.abandon()
        state.upstream = nil
        state.attempts.leaveQueue(exchange)
    }

    /// Hands the request to the upstream's connection, which drives the exchange from here on.
    func relayResponse() throws(Refusal) -> Step {
        if intake.isStreaming { intake.inviteBody() }
        state.upstream?.send(exchange)
        return .wait
    }

    /// Passes an interim answer (1xx) on to clients that know them (RFC 9110 section 15.2).
    func upstreamSentInterim(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {
        // The upstream has the request, so it is not sent again.
        intake.stopKeeping()
        guard response.status != 100 else { return }
        exchange.downstream?.relayInterim(response, bytes: bytes, of: exchange)
    }

    /// Relays the head of the final answer. False if the client accepts no head so large. The
    /// caller then calls ``refuseLargeHead()``, once it holds no view into the head.
    func upstreamSentHead(_ response: borrowing ResponseHead, bytes: Span<UInt8>) -> Bool {
        exchange.requestDeadline?.clear()
        state.attempts.headAt = services.loop.now
        exchange.progress.isStarted = true
        intake.stopKeeping()
        clientWasHeard()
        exchange.progress.status = response.status
        if exchange.quotaUse != nil { accountant.answerBegan(response, bytes: bytes) }
        if site.signals != nil { judge.noteResponseUser(response, bytes: bytes) }
        exchange.progress.isStarted =
            exchange.downstream?.relayHead(response, bytes: bytes, of: exchange) ?? true
        return exchange.progress.isStarted
    }

    /// The head is larger than the client's SETTINGS allow (RFC 9113 section 6.5.2). The server is
    /// not at fault.
    func refuseLargeHead() {
        exchange.refuse(Refusal(.upstreamFailed, .headTooLargeForClient))
    }

    /// Relays more of the answer's body. False if the client is slow; ``clientIsReady()`` ends the
    /// wait.
    func upstreamSentBody(_ bytes: Span<UInt8>) -> Bool {
        exchange.quotaUse?.read(bytes)
        return answerGoesOn(bytes.count, isReady: exchange.downstream?.relayBody(bytes) ?? true)
    }

    func upstreamSentBody(_ byteCount: Int, outOf buffer: inout ByteBuffer) -> Bool {
        exchange.quotaUse?.read(buffer.readable.extracting(first: byteCount))
        let isReady = exchange.downstream?.relayBody(byteCount, outOf: &buffer) ?? true
        return answerGoesOn(byteCount, isReady: isReady)
    }

    func upstreamSendsBody(by upstream: Transport, atMost byteCountMax: Int) -> RelayedPiece? {
        if exchange.quotaUse?.readsBody == true { return nil }
        let piece = exchange.downstream?.relayBody(from: upstream, atMost: byteCountMax)
        if let piece, case .bytes(let count) = piece.read {
            exchange.quotaUse?.bodyByteCount += count
            _ = answerGoesOn(count, isReady: piece.isReady)
        }
        return piece
    }

    private func answerGoesOn(_ byteCount: Int, isReady: Bool) -> Bool {
        exchange.progress.byteCount += byteCount
        if isReady { clientWasHeard() } else { awaitsClient() }
        return isReady
    }

    /// How many bytes of the answer may be read now; if 0, none before ``clientIsReady()``.
    func answerRoom() -> Int {
        let room = exchange.downstream?.room() ?? .max
        // Other streams of the client may have used up its buffer; then this stream waits as they
        // do.
        if room == 0 { awaitsClient() }
        return room
    }

    /// All bytes of this turn of the loop were handed over, so the sink may write them.
    func upstreamPaused() {
        exchange.downstream?.flushResponse()
    }

    /// The answer is complete, and its connection is back in the pool.
    func upstreamEnded(_ trailers: TrailerSection?) {
        state.upstream = nil
        if exchange.quotaUse != nil { accountant.answerEnded() }
        if let trailers { exchange.downstream?.relayTrailers(trailers, of: exchange) }
        exchange.downstream?.endResponse()
        exchange.phase = .recordAccess
        exchange.advance()
    }

    /// The client took the bytes that were waiting.
    func clientIsReady() {
        clientWasHeard()
        state.upstream?.resumeReading()
    }
}
