import Bytes
import Crypto
import EventLoop
import HTTP
import JSON

/// Takes in the request: its head, the route that it belongs to, and its body with the digest.
///
/// It may change only its record of the request. It waits for the client's bytes and for the file
/// of a held body, and for no store or upstream.
struct RequestIntake: ExchangePart {
    let exchange: Exchange

    @inline(__always) var state: State { exchange.intakeState }

    /// The bytes of the head as received.
    @inline(__always) var headStorage: [UInt8] { state.headStorage }

    @inline(__always) var head: RequestHead { state.head }

    /// The route or endpoint that the request belongs to.
    @inline(__always) var match: Match { state.match }

    /// The SHA-256 of the body, once the body is complete and if a proof needs it.
    @inline(__always) var digest: Bytes32 { state.digest }

    /// True once the body has ended.
    @inline(__always) var isComplete: Bool { state.isComplete }

    /// The fields after the body, if the upstream can take them.
    @inline(__always) var trailers: TrailerSection? { state.trailers }

    /// True if the body goes on as it comes.
    @inline(__always) var isStreaming: Bool { state.isStreaming }

    /// The intake's record of the request.
    final class State {
        var headStorage: [UInt8] = []
        var head: RequestHead = RequestHead()
        /// The normal form of the path, if the path came in another.
        var normalPath: [UInt8] = []
        var match: Match = Match()
        /// A body that is held back until the request is verified.
        var body: HeldBody
        /// A body that goes on as it comes (`request_body: stream`).
        var bodyStream: BodyStream = BodyStream()
        /// The hash of the body so far; nil if no proof needs it.
        var hash: SHA256Stream? = nil
        /// The search for client data in the body; nil unless the route has the `body` shape.
        var scan: BodySearch? = nil
        /// The check of the body against the route's rules; nil if the route has none.
        var bodyRules: BodyRuleCheck? = nil
        var digest: Bytes32 = .zero
        var isComplete: Bool = false
        /// When the wait for the body began.
        var bodyStartedAt: MonotonicInstant = MonotonicInstant(nanoseconds: 0)
        var trailers: TrailerSection? = nil
        var isStreaming: Bool = false

        init(body: consuming HeldBody) { self.body = body }

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            headStorage.removeAll(keepingCapacity: headStorage.capacity <= keptByteCountMax)
            head.reset()
            resetBody()
            hash = nil
            if case .some = scan { scan = nil }
            if bodyRules != nil { bodyRules = nil }
            digest = .zero
            isComplete = false
            bodyStartedAt = MonotonicInstant(nanoseconds: 0)
            trailers = nil
            isStreaming = false
            if !normalPath.isEmpty { normalPath.removeAll(keepingCapacity: true) }
            match = Match()
        }

        /// Gives back the body's memory and files, and their share of the process's limits.
        func resetBody() {
            body.reset()
            if isStreaming || bodyStream.isClientHeldBack { bodyStream = BodyStream() }
        }
    }
}
