import Bytes
import EventLoop
import HTTP
import Judgement
import Settings
import TLS

/// The bytes of the exchange's request, as a connection to an upstream sends them.
extension Forwarder {
    var methodKind: HTTP.Method { head.methodKind }
    var headByteCount: Int { rewriter.state.upstreamHead.count }
    var bodyByteCount: Int { intake.state.body.byteCount }

    var bodyPlace: RequestBodyPlace {
        if intake.isStreaming { return .stream(isChunked: head.framing == .chunked) }
        if !intake.state.body.isInMemory { return .file }
        return state.attempts.isBodyInHead ? .head : .memory
    }

    /// Notes whether the body stands behind the head, for one write.
    func sendsBody(inHead isInHead: Bool) { state.attempts.isBodyInHead = isInHead }

    var isStreamEnded: Bool { intake.isComplete && intake.state.bodyStream.isEmpty }
    var hasTrailers: Bool { intake.trailers != nil }
    var asksForTunnel: Bool { state.tunnel.isAsked }
    var sentAt: MonotonicInstant { state.attempts.startedAt }

    func withHead<Result>(_ use: (Span<UInt8>) -> Result) -> Result {
        rewriter.state.upstreamHead.withReadable(use)
    }

    func withBody<Result>(_ use: (Span<UInt8>) -> Result) -> Result {
        intake.state.body.withMemory(use)
    }

    func bodyAtHand(from offset: Int) -> Int { intake.state.body.bytesAtHand(from: offset) }
    func bodyFailed(_ error: IOError) { intake.bodyFileFailed(error) }

    func readBody(
        at offset: Int, into buffer: inout ByteBuffer, atMost: Int
    ) throws(IOError) -> Int {
        try intake.state.body.read(at: offset, into: &buffer, atMost: atMost)
    }

    func sendBody(
        from offset: Int, to transport: Transport, atMost byteCountMax: Int
    ) -> WriteOutcome? {
        intake.state.body.send(from: offset, to: transport, atMost: byteCountMax)
    }

    func forEachTrailerName(_ use: (Span<UInt8>) -> Void) {
        let bytes = headBytes
        for field in head.fields where field.known == .trailer {
            use(bytes.span.extracting(field.value))
        }
    }

    func bodyNanoseconds(_ timeouts: UpstreamTimeouts, isTunnel: Bool) -> UInt64 {
        isTunnel ? site.timeouts.tunnel : match.handling?.readNanoseconds ?? timeouts.read
    }

    func tunnelEnds(_ check: Cause.Check) { judge.note(.check(check)) }
}

extension ByteBuffer {
    fileprivate borrowing func withReadable<Result>(
        _ use: (Span<UInt8>) -> Result
    ) -> Result { use(readable) }
}
