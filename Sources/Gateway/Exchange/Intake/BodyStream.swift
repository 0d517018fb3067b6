import Bytes
import EventLoop
import HTTP
import Judgement
import Settings

/// The part of a streamed body that the gateway still has: the bytes that wait for the upstream
/// and, as long as they are few, those that the upstream was given.
struct BodyStream: ~Copyable {
    /// The bytes that were given to an upstream and are kept, followed by those that wait.
    private var bytes = ByteBuffer()
    private var keptByteCount = 0
    /// How many bytes of the body have come.
    private(set) var byteCount = 0
    /// When the client began to wait for the upstream; nil while it does not wait.
    fileprivate var heldBackSince: MonotonicInstant?
    /// True if the gateway has every byte that came, so that the request can be sent again.
    private(set) var isWhole = true

    /// True while the client has to wait.
    var isClientHeldBack: Bool { heldBackSince != nil }
    /// True if the upstream was given every byte that has come.
    var isEmpty: Bool { waitingByteCount == 0 }
    var waitingByteCount: Int { bytes.count - keptByteCount }

    fileprivate mutating func append(_ more: Span<UInt8>) {
        byteCount += more.count
        bytes.append(more)
    }

    /// Gives the first `count` waiting bytes to `use`. They are kept if the kept bytes are then
    /// `keptByteCountMax` at most. Otherwise every kept byte is forgotten.
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

    /// Lets every kept byte wait again, for another upstream's connection.
    mutating func rewind() { keptByteCount = 0 }

    /// Forgets the kept bytes, because the request will not be sent again.
    mutating func stopKeeping() {
        guard isWhole else { return }
        bytes.consume(keptByteCount)
        forgetKept()
    }

    private mutating func forgetKept() {
        keptByteCount = 0
        guard isWhole else { return }
        isWhole = false
        // The bytes that follow only pass through, and need less room.
        if bytes.isEmpty { bytes.release() }
    }
}

/// `request_body: stream`. On a route that asks for no proof, the body can go on before it is
/// complete.
extension RequestIntake {
    /// Takes the next bytes of the body.
    func receiveStreamed(_ bytes: Span<UInt8>) -> Refusal? {
        guard bytes.count <= bodyByteCountMax - state.bodyStream.byteCount else {
            return Refusal(
                .bodyTooLarge, explanation: "The body is longer than this route allows.")
        }
        forwarder.clientSent(bytes.count, enough: Self.resumeByteCount)
        state.bodyStream.append(bytes)
        forwarder.upstream?.bodyCame()
        return nil
    }

    /// True if the client has to wait. ``ResponseSink/resumeBody()`` ends the wait.
    func holdsClientBack() -> Bool {
        let state = state
        let isTooMuch =
            state.isStreaming
            ? state.bodyStream.waitingByteCount > site.settings.limits.responseBufferByteCountMax
            : state.body.isBehind
        guard isTooMuch else { return false }
        if state.bodyStream.heldBackSince == nil {
            state.bodyStream.heldBackSince = services.loop.now
        }
        return true
    }

    /// Gives the bytes that may go, at most `byteCountMax`, to `use`, which takes them all. A
    /// client that had to wait then goes on before this returns, and may have ended the exchange.
    ///
    /// - Returns: how many bytes `use` got.
    @discardableResult
    func takeStreamed(atMost byteCountMax: Int, _ use: (Span<UInt8>) -> Void) -> Int {
        let waitingByteCount = state.bodyStream.waitingByteCount
        let count = min(byteCountMax, waitingByteCount - keptBackByteCount(waitingByteCount))
        var stream = BodyStream()
        swap(&stream, &state.bodyStream)
        stream.take(count, keepingAtMost: bodyMemoryByteCountMax, use)
        swap(&stream, &state.bodyStream)
        // A client that already gets its answer talks both ways, and may be silent for a while.
        if count == 0, !state.isComplete, !exchange.progress.isStarted { forwarder.awaitsClient() }
        // This comes last, because the client's next bytes may end the exchange.
        if state.bodyStream.waitingByteCount <= Self.resumeByteCount { letClientGoOn() }
        return count
    }

    /// Lets the client send again, if it had to wait.
    func letClientGoOn() {
        guard let since = state.bodyStream.heldBackSince else { return }
        state.bodyStream.heldBackSince = nil
        // The time that the client had to wait does not count against its pace.
        state.bodyStartedAt = state.bodyStartedAt.advanced(
            byNanoseconds: services.loop.now.nanoseconds(since: since))
        exchange.downstream?.resumeBody()
    }

    /// How many bytes have to wait for the end of the body: the last one of an announced length. In
    /// HTTP/2 more bytes may come, and then no upstream may get the request whole (RFC 9113 section
    /// 8.1.1).
    private func keptBackByteCount(_ waitingByteCount: Int) -> Int {
        guard !state.isComplete, waitingByteCount > 0,
            case .length(let length) = state.head.framing,
            UInt64(state.bodyStream.byteCount) >= length
        else { return 0 }
        return 1
    }

    /// How many bytes came after the head, whether or not they were held.
    var receivedByteCount: Int {
        state.body.byteCount + state.bodyStream.byteCount + forwarder.tunnel.byteCount
    }

    /// True if the request can be sent again, because the gateway has every byte that came.
    var isWholeAtHand: Bool { !state.isStreaming || state.bodyStream.isWhole }

    /// True if the gateway is sure to keep the whole body, however much of it has gone on.
    var willBeWhole: Bool {
        guard state.isStreaming else { return true }
        var byteCount = UInt64(state.bodyStream.byteCount)
        if !state.isComplete {
            guard case .length(let length) = state.head.framing else { return false }
            byteCount = length
        }
        return state.bodyStream.isWhole && byteCount <= UInt64(bodyMemoryByteCountMax)
    }

    /// How many bytes of the body may be held in memory.
    var bodyMemoryByteCountMax: Int {
        state.match.handling?.bodyMemoryByteCountMax ?? site.settings.limits.bodyMemoryByteCountMax
    }

    /// A client that had to wait goes on once no more than this waits for the upstream.
    private static let resumeByteCount = 16 * 1024

    /// Asks a client that waits for `100 Continue` for the body, whose time begins now.
    func inviteBody() {
        guard let client = exchange.downstream, client.isContinueOwed else { return }
        state.bodyStartedAt = services.loop.now
        client.sendContinue()
    }

    /// How long the client may take for more of the body, by the longest pause and by the pace of
    /// the whole body. Nil if no byte has to come: a client that talks both ways may be silent for
    /// a while, and the upstream's time-outs bound that.
    var bodyPatience: UInt64? {
        let pause =
            state.match.handling?.requestBodyNanoseconds ?? services.site.timeouts.requestBody
        if state.bodyStream.isClientHeldBack || (state.isStreaming && exchange.progress.isStarted) {
            return nil
        }
        // It is asked for a streamed body once an upstream's connection is free.
        if state.isStreaming, exchange.downstream?.isContinueOwed == true { return nil }
        let latest = services.site.bodyPace.deadline(
            since: paceStart,
            byteCount: state.isStreaming ? state.bodyStream.byteCount : state.body.byteCount)
        return min(pause, latest.nanoseconds(since: services.loop.now))
    }

    /// When the pace begins to count, apart from the grace. If the route of a stream allows longer
    /// pauses, the grace is as long as they are, for calls that are silent until they are answered.
    private var paceStart: MonotonicInstant {
        let grace = services.site.bodyPace.grace
        guard state.isStreaming, let own = state.match.handling?.requestBodyNanoseconds, own > grace
        else {
            return state.bodyStartedAt
        }
        return state.bodyStartedAt.advanced(byNanoseconds: own - grace)
    }
}
