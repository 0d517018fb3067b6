import Bytes
import EventLoop
import HTTP
import Judgement
import Settings

/// What has come of a body that goes on as it comes, and has not gone yet.
struct BodyStream: ~Copyable {
    fileprivate var waiting = ByteBuffer()
    /// The bytes of the whole body so far.
    fileprivate(set) var byteCount = 0
    /// Since when the client waits until the upstream has taken some; nil where it does not.
    fileprivate var heldBackSince: MonotonicInstant?
    /// Something has gone: the request cannot be sent again.
    fileprivate(set) var hasBegun = false

    /// Whether all that has come has gone.
    var isEmpty: Bool { waiting.isEmpty }
}

/// `request_body: stream`: on a route that asks for no proof nothing has to be known of the body
/// before it goes on.
extension Exchange {
    /// Takes the next bytes of the body.
    func receiveStreamed(_ bytes: Span<UInt8>) -> Refusal? {
        guard bytes.count <= bodyByteCountMax - bodyStream.byteCount else {
            return Refusal(
                .bodyTooLarge, explanation: "The body is longer than this route allows.")
        }
        bodyStream.byteCount += bytes.count
        clientWait.byteCount += bytes.count
        // A byte now and then is not what the upstream waits for.
        if clientWait.byteCount >= Self.resumeByteCount { clientWasHeard() }
        bodyStream.waiting.append(bytes)
        upstream?.bodyCame()
        return nil
    }

    /// Whether the client has to wait: ``ResponseSink/resumeBody()`` tells when it may go on.
    func holdsClientBack() -> Bool {
        guard intake.isStreaming,
            bodyStream.waiting.count > site.settings.limits.responseBufferByteCountMax
        else { return false }
        if bodyStream.heldBackSince == nil { bodyStream.heldBackSince = worker.loop.now }
        return true
    }

    /// Gives at most `byteCountMax` bytes that may go to `use`, which takes them all; a client that
    /// had to wait then goes on before this returns, and may have ended the exchange.
    ///
    /// - Returns: how many those were.
    @discardableResult
    func takeStreamed(atMost byteCountMax: Int, _ use: (Span<UInt8>) -> Void) -> Int {
        var waiting = ByteBuffer()
        swap(&waiting, &bodyStream.waiting)
        let count = min(byteCountMax, waiting.count - keptBackByteCount(waiting.count))
        use(waiting.readable.extracting(first: count))
        waiting.consume(count)
        swap(&waiting, &bodyStream.waiting)
        if count > 0 { bodyStream.hasBegun = true }
        // Who has an answer already talks both ways, and may be silent for a while.
        if count == 0, !intake.isComplete, !progress.isStarted { awaitsClient() }
        // Last of all: what the client sent meanwhile may end the exchange.
        if let since = bodyStream.heldBackSince, bodyStream.waiting.count <= Self.resumeByteCount {
            bodyStream.heldBackSince = nil
            // The time in which the client had to wait is not its own.
            intake.startedAt = intake.startedAt.advanced(
                byNanoseconds: worker.loop.now.nanoseconds(since: since))
            downstream?.resumeBody()
        }
        return count
    }

    /// The last byte of an announced length goes once the body has ended: in HTTP/2 more may come,
    /// and then nobody may have the request whole (RFC 9113 section 8.1.1).
    private func keptBackByteCount(_ waitingByteCount: Int) -> Int {
        guard !intake.isComplete, waitingByteCount > 0, case .length(let length) = head.framing,
            UInt64(bodyStream.byteCount) >= length
        else { return 0 }
        return 1
    }

    /// What came after the head, held or not.
    var receivedByteCount: Int { body.byteCount + bodyStream.byteCount + tunnel.byteCount }

    /// Whether the request can be sent once more: nothing of it went on that is not held.
    var isWholeAtHand: Bool { !intake.isStreaming || !bodyStream.hasBegun }

    /// A client goes on when no more than this waits for the upstream.
    private static let resumeByteCount = 16 * 1024

    /// How long the client may take for more of the body: by the longest pause, and by the pace of
    /// all of it. Nil where nothing has to come: who talks both ways may be silent for a while, and
    /// the upstream's time-outs bound that.
    var bodyPatience: UInt64? {
        let pause = match.handling?.requestBodyNanoseconds ?? worker.site.timeouts.requestBody
        if intake.isStreaming, progress.isStarted || bodyStream.heldBackSince != nil { return nil }
        let latest = worker.site.bodyPace.deadline(
            since: paceStart, byteCount: intake.isStreaming ? bodyStream.byteCount : body.byteCount)
        return min(pause, latest.nanoseconds(since: worker.loop.now))
    }

    /// Since when the pace counts, but for the grace. Of a stream whose route grants longer pauses
    /// the grace is as long as these: calls that may be silent until they are answered.
    private var paceStart: MonotonicInstant {
        let grace = worker.site.bodyPace.grace
        guard intake.isStreaming, let own = match.handling?.requestBodyNanoseconds, own > grace
        else {
            return intake.startedAt
        }
        return intake.startedAt.advanced(byNanoseconds: own - grace)
    }
}
