import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

/// Hands an upstream connection's calls to the forwarder, the intake and the recorder.
extension Exchange: UpstreamRequest {
    var methodKind: HTTP.Method { forwarder.methodKind }
    var headByteCount: Int { forwarder.headByteCount }
    var bodyPlace: RequestBodyPlace { forwarder.bodyPlace }
    var bodyByteCount: Int { forwarder.bodyByteCount }
    var isStreamEnded: Bool { forwarder.isStreamEnded }
    var hasTrailers: Bool { forwarder.hasTrailers }
    var takesTrailers: Bool { recorder.takesTrailers }
    var asksForTunnel: Bool { forwarder.asksForTunnel }
    var sentAt: MonotonicInstant { forwarder.sentAt }

    func withHead<Result>(_ use: (Span<UInt8>) -> Result) -> Result { forwarder.withHead(use) }
    func withBody<Result>(_ use: (Span<UInt8>) -> Result) -> Result { forwarder.withBody(use) }
    func bodyAtHand(from offset: Int) -> Int { forwarder.bodyAtHand(from: offset) }
    func bodyFailed(_ error: IOError) { forwarder.bodyFailed(error) }

    func readBody(
        at offset: Int, into buffer: inout ByteBuffer, atMost: Int
    ) throws(IOError) -> Int {
        try forwarder.readBody(at: offset, into: &buffer, atMost: atMost)
    }

    func sendBody(
        from offset: Int, to transport: Transport, atMost byteCountMax: Int
    ) -> WriteOutcome? {
        forwarder.sendBody(from: offset, to: transport, atMost: byteCountMax)
    }

    func takeStreamed(atMost byteCountMax: Int, _ use: (Span<UInt8>) -> Void) -> Int {
        intake.takeStreamed(atMost: byteCountMax, use)
    }

    func forEachTrailerName(_ use: (Span<UInt8>) -> Void) { forwarder.forEachTrailerName(use) }

    func forEachRequestTrailer(_ relay: (FieldRange, Span<UInt8>) -> Void) {
        recorder.forEachRequestTrailer(relay)
    }

    func headNanoseconds(_ timeouts: UpstreamTimeouts) -> UInt64 {
        forwarder.headNanoseconds(timeouts)
    }

    func bodyNanoseconds(_ timeouts: UpstreamTimeouts, isTunnel: Bool) -> UInt64 {
        forwarder.bodyNanoseconds(timeouts, isTunnel: isTunnel)
    }

    func upstreamSentInterim(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {
        forwarder.upstreamSentInterim(response, bytes: bytes)
    }

    func upstreamSentHead(_ response: borrowing ResponseHead, bytes: Span<UInt8>) -> Bool {
        forwarder.upstreamSentHead(response, bytes: bytes)
    }

    func refuseLargeHead() { forwarder.refuseLargeHead() }
    func upstreamSentBody(_ bytes: Span<UInt8>) -> Bool { forwarder.upstreamSentBody(bytes) }

    func upstreamSentBody(_ byteCount: Int, outOf buffer: inout ByteBuffer) -> Bool {
        forwarder.upstreamSentBody(byteCount, outOf: &buffer)
    }

    func upstreamSendsBody(by upstream: Transport, atMost byteCountMax: Int) -> RelayedPiece? {
        forwarder.upstreamSendsBody(by: upstream, atMost: byteCountMax)
    }

    func answerRoom() -> Int { forwarder.answerRoom() }
    func upstreamPaused() { forwarder.upstreamPaused() }
    func upstreamEnded(_ trailers: TrailerSection?) { forwarder.upstreamEnded(trailers) }

    func upstreamFailed(
        _ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool, sawAnswer: Bool
    ) {
        forwarder.upstreamFailed(
            failure, wasReused: wasReused, isUnsent: isUnsent, sawAnswer: sawAnswer)
    }

    func upstreamHadNoPlace() { forwarder.upstreamHadNoPlace() }

    func upstreamSwitched(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {
        forwarder.upstreamSwitched(response, bytes: bytes)
    }

    func upstreamIsReady() { forwarder.upstreamIsReady() }
    func upstreamEndedTunnel() { forwarder.upstreamEndedTunnel() }
    func tunnelEnds(_ check: Cause.Check) { forwarder.tunnelEnds(check) }
}

extension Exchange: PooledRequest {
    var attemptCount: Int { forwarder.attempts.count }
    var isCalled: Bool { forwarder.attempts.isCalled }
    var triedServers: [ServerState] { forwarder.attempts.triedServers }
    var mayRepeat: Bool { forwarder.mayRepeat }
    var willBeWhole: Bool { intake.willBeWhole }
    var balanceKey: UInt64 { forwarder.balanceKey }
    var awaitedClientSince: MonotonicInstant? { forwarder.clientWait.since }

    func wasCalled() { forwarder.wasCalled() }
    func waitedTooLong() { forwarder.waitedTooLong() }
    func clientIsAwaited(since now: MonotonicInstant) { forwarder.clientIsAwaited(since: now) }
    func makeRoom() { forwarder.makeRoom() }
}
