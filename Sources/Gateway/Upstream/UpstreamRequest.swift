import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

/// A request on its way to an upstream's server, and the receiver of its answer: an exchange, or a
/// health check.
///
/// A connection reads the request from the place that holds it, so that a retry finds it untouched.
/// Functions that a health check does not use have a default.
protocol UpstreamRequest: AnyObject {
    // MARK: the request

    var methodKind: HTTP.Method { get }
    /// The number of bytes of the head in HTTP/1.1's form, with a small body that goes along with
    /// it.
    var headByteCount: Int { get }
    var bodyPlace: RequestBodyPlace { get }
    /// The number of bytes of a held body.
    var bodyByteCount: Int { get }
    /// True if the end of a streamed body has come and was sent.
    var isStreamEnded: Bool { get }
    /// True if fields follow the body.
    var hasTrailers: Bool { get }
    /// True if the client accepts fields after the answer's content.
    var takesTrailers: Bool { get }
    /// True if a `101 (Switching Protocols)` is welcome.
    var asksForTunnel: Bool { get }
    /// The time at which the connection was leased for it.
    var sentAt: MonotonicInstant { get }

    func withHead<Result>(_ use: (Span<UInt8>) -> Result) -> Result
    /// Calls `use` with a body that is held in memory.
    func withBody<Result>(_ use: (Span<UInt8>) -> Result) -> Result
    /// The number of bytes of a body in a file that can be had from `offset` on without a wait. If
    /// it is 0, ``RequestSink/bodyCame()`` is called when there are some.
    func bodyAtHand(from offset: Int) -> Int
    /// Ends the request because the body cannot be had, which is no fault of the server.
    func bodyFailed(_ error: IOError)
    /// Reads up to `atMost` bytes of a body in a file from `offset` on, which are at hand, to the
    /// end of `buffer`.
    func readBody(at offset: Int, into buffer: inout ByteBuffer, atMost: Int) throws(IOError) -> Int
    /// Sends up to `byteCountMax` bytes of a body in a file from `offset` on, which are at hand,
    /// without reading them; nil if they have to be read.
    func sendBody(
        from offset: Int, to transport: Transport, atMost byteCountMax: Int
    ) -> WriteOutcome?
    /// Calls `use` with the next bytes of a streamed body; `use` takes them all.
    @discardableResult
    func takeStreamed(atMost byteCountMax: Int, _ use: (Span<UInt8>) -> Void) -> Int
    /// Calls `use` with the values of `Trailer`.
    func forEachTrailerName(_ use: (Span<UInt8>) -> Void)
    func forEachRequestTrailer(_ relay: (FieldRange, Span<UInt8>) -> Void)

    // MARK: time limits

    /// The time for the head of the answer.
    func headNanoseconds(_ timeouts: UpstreamTimeouts) -> UInt64
    /// The time for the next piece of the answer's body, or of a tunnel.
    func bodyNanoseconds(_ timeouts: UpstreamTimeouts, isTunnel: Bool) -> UInt64

    // MARK: the answer

    func upstreamSentInterim(_ response: borrowing ResponseHead, bytes: Span<UInt8>)
    /// False if the client accepts no head so large. ``refuseLargeHead()`` must then be called when
    /// no view into the head is open.
    func upstreamSentHead(_ response: borrowing ResponseHead, bytes: Span<UInt8>) -> Bool
    func refuseLargeHead()
    /// False if the client is slow: wait for ``RequestSink/resumeReading()``.
    func upstreamSentBody(_ bytes: Span<UInt8>) -> Bool
    /// Takes the first `byteCount` bytes of `buffer`, as ``upstreamSentBody(_:)`` does.
    func upstreamSentBody(_ byteCount: Int, outOf buffer: inout ByteBuffer) -> Bool
    /// Passes on the next bytes of the answer, at most so many, straight from the connection; nil
    /// if they have to be read.
    func upstreamSendsBody(by upstream: Transport, atMost byteCountMax: Int) -> RelayedPiece?
    /// The number of bytes of the answer that may be read now.
    func answerRoom() -> Int
    /// All bytes that came in this turn of the loop were handed over.
    func upstreamPaused()
    func upstreamEnded(_ trailers: TrailerSection?)
    func upstreamFailed(
        _ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool, sawAnswer: Bool)
    /// The connection accepts fewer requests at once than it was thought to.
    func upstreamHadNoPlace()

    // MARK: tunnels

    func upstreamSwitched(_ response: borrowing ResponseHead, bytes: Span<UInt8>)
    /// The upstream takes more through the tunnel.
    func upstreamIsReady()
    /// The upstream sends no more through the tunnel, but still reads.
    func upstreamEndedTunnel()
    /// The gateway ends the tunnel, for this cause.
    func tunnelEnds(_ check: Cause.Check)
}

/// The place of a request's body.
enum RequestBodyPlace: Equatable {
    /// The body goes along with the head, or there is none.
    case head
    case memory
    case file
    /// The body is sent on as it comes, in chunks or by an announced length.
    case stream(isChunked: Bool)

    var isStream: Bool { if case .stream = self { true } else { false } }
    /// True if the body may have to be waited for: ``RequestSink/bodyCame()`` reports more of it.
    var isAwaited: Bool { self == .file || isStream }
}

/// A request without a body whose answer is not relayed.
extension UpstreamRequest {
    var bodyPlace: RequestBodyPlace { .head }
    var bodyByteCount: Int { 0 }
    var isStreamEnded: Bool { true }
    var hasTrailers: Bool { false }
    var takesTrailers: Bool { false }
    var asksForTunnel: Bool { false }

    func withBody<Result>(_ use: (Span<UInt8>) -> Result) -> Result { use(Span()) }
    func bodyAtHand(from offset: Int) -> Int { 0 }
    func bodyFailed(_ error: IOError) {}
    func readBody(
        at offset: Int, into buffer: inout ByteBuffer, atMost: Int
    ) throws(IOError) -> Int { 0 }
    func sendBody(
        from offset: Int, to transport: Transport, atMost byteCountMax: Int
    ) -> WriteOutcome? { nil }
    func takeStreamed(atMost byteCountMax: Int, _ use: (Span<UInt8>) -> Void) -> Int { 0 }
    func forEachTrailerName(_ use: (Span<UInt8>) -> Void) {}
    func forEachRequestTrailer(_ relay: (FieldRange, Span<UInt8>) -> Void) {}

    func upstreamSentInterim(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {}
    func refuseLargeHead() {}
    func upstreamSentBody(_ bytes: Span<UInt8>) -> Bool { true }
    func upstreamSentBody(_ byteCount: Int, outOf buffer: inout ByteBuffer) -> Bool {
        let isReady = upstreamSentBody(buffer.readable.extracting(first: byteCount))
        buffer.consume(byteCount)
        return isReady
    }
    func upstreamSendsBody(by upstream: Transport, atMost byteCountMax: Int) -> RelayedPiece? {
        nil
    }
    func answerRoom() -> Int { .max }
    func upstreamPaused() {}
    func upstreamSwitched(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {}
    func upstreamIsReady() {}
    func upstreamEndedTunnel() {}
    func tunnelEnds(_ check: Cause.Check) {}
}

/// A piece of an answer's body that went to the client without being read.
struct RelayedPiece {
    /// What came from the upstream.
    var read: ReadOutcome
    /// False where the client is slow.
    var isReady: Bool
}
