import Bytes
import EventLoop
import HTTP
import Judgement
import Settings
import TLS

/// What a connection to an upstream sends of the exchange's request.
extension Exchange: UpstreamRequest {
    var methodKind: HTTP.Method { head.methodKind }
    var headByteCount: Int { upstreamHead.count }
    var bodyByteCount: Int { body.byteCount }

    var bodyPlace: RequestBodyPlace {
        if intake.isStreaming { return .stream(isChunked: head.framing == .chunked) }
        if !body.isInMemory { return .file }
        return attempts.isBodyInHead ? .head : .memory
    }

    var isStreamEnded: Bool { intake.isComplete && bodyStream.isEmpty }
    var hasTrailers: Bool { intake.trailers != nil }
    var asksForTunnel: Bool { tunnel.isAsked }
    var sentAt: MonotonicInstant { attempts.startedAt }

    func withHead<Result>(_ use: (Span<UInt8>) -> Result) -> Result {
        upstreamHead.withReadable(use)
    }

    func withBody<Result>(_ use: (Span<UInt8>) -> Result) -> Result { body.withMemory(use) }

    func bodyAtHand(from offset: Int) -> Int { body.bytesAtHand(from: offset) }
    func bodyFailed(_ error: IOError) { bodyFileFailed(error) }

    func readBody(
        at offset: Int, into buffer: inout ByteBuffer, atMost: Int
    ) throws(IOError) -> Int {
        try body.read(at: offset, into: &buffer, atMost: atMost)
    }

    func sendBody(
        from offset: Int, to transport: Transport, atMost byteCountMax: Int
    ) -> WriteOutcome? {
        body.send(from: offset, to: transport, atMost: byteCountMax)
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

    func tunnelEnds(_ check: Cause.Check) { judgement.note(.check(check)) }
}

extension ByteBuffer {
    fileprivate borrowing func withReadable<Result>(
        _ use: (Span<UInt8>) -> Result
    ) -> Result { use(readable) }
}
