import Bytes
import EventLoop
import HTTP
import Judgement
import Settings

/// The part of a body that goes on as it comes which the gateway still has: what waits for the
/// upstream and, while there is little of it, what the upstream was given.
struct BodyStream: ~Copyable {
    /// The bytes that were given to an upstream and are kept, then those that wait.
    private var bytes = ByteBuffer()
    private var keptByteCount = 0
    /// The bytes of the whole body so far.
    private(set) var byteCount = 0
    /// When the client began to wait for the upstream to take some; nil while it does not wait.
    fileprivate var heldBackSince: MonotonicInstant?
    /// Whether the gateway has every byte that came, so that the request can be sent again.
    private(set) var isWhole = true

    /// Whether the client waits.
    var isClientHeldBack: Bool { heldBackSince != nil }
    /// Whether the upstream was given all that has come.
    var isEmpty: Bool { waitingByteCount == 0 }
    var waitingByteCount: Int { bytes.count - keptByteCount }

    fileprivate mutating func append(_ more: Span<UInt8>) {
        byteCount += more.count
        bytes.append(more)
    }

    /// Gives the first `count` waiting bytes to `use`. They are kept if that makes no more than
    /// `keptByteCountMax`; otherwise they and all that was kept before are forgotten.
    fileprivate mutating func take(
        _ count: Int, keepingAtMost keptByteCountMax: Int, _ use: (Span<UInt8>) -> Void
    ) {
        let end = keptByteCount + count
        use(bytes.readable.extracting(keptByteCount..<end))
        if isWhole, end <= keptByteCountMax {
            keptByteCount = end
        } else if count > 0 {
            bytes.consume(end)
            forgetKept()
        }
    }

    /// Has every byte wait again, for another upstream's connection.
    mutating func rewind() { keptByteCount = 0 }

    /// Forgets what was kept: the request will not be sent again.
    mutating func stopKeeping() {
        guard isWhole else { return }
        bytes.consume(keptByteCount)
        forgetKept()
    }

    private mutating func forgetKept() {
        keptByteCount = 0
        guard isWhole else { return }
        isWhole = false
        // What follows only passes through, and needs less room.
        if bytes.isEmpty { bytes.release() }
    }
}

/// `request_body: stream`: on a route that asks for no proof nothing has to be known of the body
/// before it goes on.
extension RequestIntake {
    /// Takes the next bytes of the body.
    func receiveStreamed(_ bytes: Span<UInt8>) -> Refusal? {
        guard bytes.count <= bodyByteCountMax - bodyStream.byteCount else {
            return Refusal(
                .bodyTooLarge, explanation: "The body is longer than this route allows.")
        }
        forwarder.clientSent(bytes.count, enough: Self.resumeByteCount)
        bodyStream.append(bytes)
        forwarder.upstream?.bodyCame()
        return nil
    }

    /// Whether the client has to wait: ``ResponseSink/resumeBody()`` tells when it may go on.
    func holdsClientBack() -> Bool {
        let isTooMuch =
            isStreaming
            ? bodyStream.waitingByteCount > site.settings.limits.responseBufferByteCountMax
            : body.isBehind
        guard isTooMuch else { return false }
        if bodyStream.heldBackSince == nil { bodyStream.heldBackSince = worker.loop.now }
        return true
    }

    /// Gives at most `byteCountMax` bytes that may go to `use`, which takes them all; a client that
    /// had to wait then goes on before this returns, and may have ended the exchange.
    ///
    /// - Returns: how many those were.
    @discardableResult
    func takeStreamed(atMost byteCountMax: Int, _ use: (Span<UInt8>) -> Void) -> Int {
        let waitingByteCount = bodyStream.waitingByteCount
        let count = min(byteCountMax, waitingByteCount - keptBackByteCount(waitingByteCount))
        var stream = BodyStream()
        swap(&stream, &bodyStream)
        stream.take(count, keepingAtMost: bodyMemoryByteCountMax, use)
        swap(&stream, &bodyStream)
        // Who has an answer already talks both ways, and may be silent for a while.
        if count == 0, !isComplete, !exchange.progress.isStarted { forwarder.awaitsClient() }
        // Last of all: what the client sent meanwhile may end the exchange.
        if bodyStream.waitingByteCount <= Self.resumeByteCount { letClientGoOn() }
        return count
    }

    /// Lets a client go on that had to wait.
    func letClientGoOn() {
        guard let since = bodyStream.heldBackSince else { return }
        bodyStream.heldBackSince = nil
        // The time in which the client had to wait is not its own.
        bodyStartedAt = bodyStartedAt.advanced(
            byNanoseconds: worker.loop.now.nanoseconds(since: since))
        exchange.downstream?.resumeBody()
    }

    /// The last byte of an announced length goes once the body has ended: in HTTP/2 more may come,
    /// and then nobody may have the request whole (RFC 9113 section 8.1.1).
    private func keptBackByteCount(_ waitingByteCount: Int) -> Int {
        guard !isComplete, waitingByteCount > 0, case .length(let length) = head.framing,
            UInt64(bodyStream.byteCount) >= length
        else { return 0 }
        return 1
    }

    /// What came after the head, held or not.
    var receivedByteCount: Int {
        body.byteCount + bodyStream.byteCount + forwarder.tunnel.byteCount
    }

    /// Whether the request can be sent once more: the gateway has every byte that came of it.
    var isWholeAtHand: Bool { !isStreaming || bodyStream.isWhole }

    /// Whether it is known that the gateway will keep the whole body, however much of it goes on.
    var willBeWhole: Bool {
        guard isStreaming else { return true }
        var byteCount = UInt64(bodyStream.byteCount)
        if !isComplete {
            guard case .length(let length) = head.framing else { return false }
            byteCount = length
        }
        return bodyStream.isWhole && byteCount <= UInt64(bodyMemoryByteCountMax)
    }

    /// The bytes of the body that may be held in memory.
    var bodyMemoryByteCountMax: Int {
        match.handling?.bodyMemoryByteCountMax ?? site.settings.limits.bodyMemoryByteCountMax
    }

    /// A client goes on when no more than this waits for the upstream.
    private static let resumeByteCount = 16 * 1024

    /// How long the client may take for more of the body: by the longest pause, and by the pace of
    /// all of it. Nil where nothing has to come: who talks both ways may be silent for a while, and
    /// the upstream's time-outs bound that.
    var bodyPatience: UInt64? {
        let pause = match.handling?.requestBodyNanoseconds ?? worker.site.timeouts.requestBody
        if bodyStream.isClientHeldBack || (isStreaming && exchange.progress.isStarted) {
            return nil
        }
        let latest = worker.site.bodyPace.deadline(
            since: paceStart, byteCount: isStreaming ? bodyStream.byteCount : body.byteCount)
        return min(pause, latest.nanoseconds(since: worker.loop.now))
    }

    /// Since when the pace counts, but for the grace. Of a stream whose route grants longer pauses
    /// the grace is as long as these: calls that may be silent until they are answered.
    private var paceStart: MonotonicInstant {
        let grace = worker.site.bodyPace.grace
        guard isStreaming, let own = match.handling?.requestBodyNanoseconds, own > grace
        else {
            return bodyStartedAt
        }
        return bodyStartedAt.advanced(byNanoseconds: own - grace)
    }
}
