import Bytes
import EventLoop
import HTTP

extension Exchange {
    /// An interim answer (1xx): passed on to clients that know them (RFC 9110 section 15.2).
    func upstreamSentInterim(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {
        guard response.status != 100 else { return }
        downstream?.relayInterim(response, bytes: bytes, of: self)
    }

    /// The head of the final answer.
    func upstreamSentHead(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {
        requestDeadline?.clear()
        upstreamHeadAt = worker.loop.now
        isAnswerStarted = true
        responseStatus = response.status
        downstream?.relayHead(response, bytes: bytes, of: self)
    }

    /// More of the answer's body. False where the client is slow: wait for ``clientIsReady()``.
    func upstreamSentBody(_ bytes: Span<UInt8>) -> Bool {
        responseByteCount += bytes.count
        return downstream?.relayBody(bytes) ?? true
    }

    /// What came in one turn of the loop is handed over; now it may be written.
    func upstreamPaused() {
        downstream?.flushResponse()
    }

    /// The answer is complete; the connection has gone back to its pool.
    func upstreamEnded(_ body: ResponseBodyReader) {
        upstream = nil
        if case .chunked(let decoder) = body, !decoder.trailers.isEmpty {
            let bytes = decoder.trailerBytes
            downstream?.relayTrailers(decoder.trailers, bytes: bytes.span)
        }
        downstream?.endResponse()
        phase = .recordAccess
        advance()
    }

    /// The client took what was waiting.
    func clientIsReady() {
        upstream?.resumeReading()
    }
}
