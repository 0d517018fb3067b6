import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

extension Forwarder {
    /// Gives up the upstream's connection, or the wait for one.
    func abandon() {
        upstream?.abandon()
        upstream = nil
        attempts.leaveQueue(exchange)
    }

    /// Hands the request over; the upstream's connection drives the exchange from here on.
    func relayResponse() throws(Refusal) -> Step {
        if intake.isStreaming, !intake.isComplete { exchange.downstream?.wantsBody() }
        upstream?.send(exchange)
        return .wait
    }

    /// An interim answer (1xx): passed on to clients that know them (RFC 9110 section 15.2).
    func upstreamSentInterim(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {
        // The upstream has the request, which is not sent again from here on.
        intake.stopKeeping()
        guard response.status != 100 else { return }
        exchange.downstream?.relayInterim(response, bytes: bytes, of: exchange)
    }

    /// The head of the final answer. False where the client takes none so large:
    /// ``refuseLargeHead()`` is to be called then, when no view into the head is open.
    func upstreamSentHead(_ response: borrowing ResponseHead, bytes: Span<UInt8>) -> Bool {
        exchange.requestDeadline?.clear()
        attempts.headAt = worker.loop.now
        exchange.progress.isStarted = true
        intake.stopKeeping()
        clientWasHeard()
        exchange.progress.status = response.status
        if site.signals != nil { judge.noteResponseUser(response, bytes: bytes) }
        exchange.progress.isStarted =
            exchange.downstream?.relayHead(response, bytes: bytes, of: exchange) ?? true
        return exchange.progress.isStarted
    }

    /// The client's SETTINGS have no room for the answer's head (RFC 9113 section 6.5.2), and the
    /// server has done nothing wrong.
    func refuseLargeHead() {
        exchange.refuse(Refusal(.upstreamFailed, .headTooLargeForClient))
    }

    /// More of the answer's body. False where the client is slow: wait for ``clientIsReady()``.
    func upstreamSentBody(_ bytes: Span<UInt8>) -> Bool {
        answerGoesOn(bytes.count, isReady: exchange.downstream?.relayBody(bytes) ?? true)
    }

    func upstreamSentBody(_ byteCount: Int, outOf buffer: inout ByteBuffer) -> Bool {
        let isReady = exchange.downstream?.relayBody(byteCount, outOf: &buffer) ?? true
        return answerGoesOn(byteCount, isReady: isReady)
    }

    func upstreamSendsBody(by upstream: Transport, atMost byteCountMax: Int) -> RelayedPiece? {
        let piece = exchange.downstream?.relayBody(from: upstream, atMost: byteCountMax)
        if let piece, case .bytes(let count) = piece.read {
            _ = answerGoesOn(count, isReady: piece.isReady)
        }
        return piece
    }

    private func answerGoesOn(_ byteCount: Int, isReady: Bool) -> Bool {
        exchange.progress.byteCount += byteCount
        if isReady { clientWasHeard() } else { awaitsClient() }
        return isReady
    }

    /// How many bytes of the answer may be read now; 0: not before ``clientIsReady()``.
    func answerRoom() -> Int {
        let room = exchange.downstream?.room() ?? .max
        // Other streams of the client may have filled what it may have waiting: it waits for it as
        // they do.
        if room == 0 { awaitsClient() }
        return room
    }

    /// What came in one turn of the loop is handed over; now it may be written.
    func upstreamPaused() {
        exchange.downstream?.flushResponse()
    }

    /// The answer is complete; its connection has gone back to the pool.
    func upstreamEnded(_ trailers: TrailerSection?) {
        upstream = nil
        if let trailers { exchange.downstream?.relayTrailers(trailers, of: exchange) }
        exchange.downstream?.endResponse()
        exchange.phase = .recordAccess
        exchange.advance()
    }

    /// The client took what was waiting.
    func clientIsReady() {
        clientWasHeard()
        upstream?.resumeReading()
    }
}
