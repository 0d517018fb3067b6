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

    @inline(__always) private var state: State { exchange.intakeState }

    /// The bytes of the head as received.
    @inline(__always) var headStorage: [UInt8] {
        _read { yield state.headStorage }
        nonmutating _modify { yield &state.headStorage }
    }

    @inline(__always) var head: RequestHead {
        _read { yield state.head }
        nonmutating _modify { yield &state.head }
    }

    /// The normal form of the path, if the path came in another.
    @inline(__always) var normalPath: [UInt8] {
        _read { yield state.normalPath }
        nonmutating _modify { yield &state.normalPath }
    }

    /// The route or endpoint that the request belongs to.
    @inline(__always) var match: Match {
        _read { yield state.match }
        nonmutating _modify { yield &state.match }
    }

    /// A body that is held back until the request is verified.
    @inline(__always) var body: HeldBody {
        _read { yield state.body }
        nonmutating _modify { yield &state.body }
    }

    /// A body that goes on as it comes (`request_body: stream`).
    @inline(__always) var bodyStream: BodyStream {
        _read { yield state.bodyStream }
        nonmutating _modify { yield &state.bodyStream }
    }

    /// The hash of the body so far; nil if no proof needs it.
    @inline(__always) var hash: SHA256Stream? {
        _read { yield state.hash }
        nonmutating _modify { yield &state.hash }
    }

    /// The search for client data in the body; nil unless the route has the `body` shape.
    @inline(__always) var scan: JSONScanner? {
        _read { yield state.scan }
        nonmutating _modify { yield &state.scan }
    }

    /// The SHA-256 of the body, once the body is complete and if a proof needs it.
    @inline(__always) var digest: Bytes32 {
        _read { yield state.digest }
        nonmutating _modify { yield &state.digest }
    }

    /// True once the body has ended.
    @inline(__always) var isComplete: Bool {
        _read { yield state.isComplete }
        nonmutating _modify { yield &state.isComplete }
    }

    /// When the wait for the body began.
    @inline(__always) var bodyStartedAt: MonotonicInstant {
        _read { yield state.bodyStartedAt }
        nonmutating _modify { yield &state.bodyStartedAt }
    }

    /// The fields after the body, if the upstream can take them.
    @inline(__always) var trailers: TrailerSection? {
        _read { yield state.trailers }
        nonmutating _modify { yield &state.trailers }
    }

    /// True if the body goes on as it comes.
    @inline(__always) var isStreaming: Bool {
        _read { yield state.isStreaming }
        nonmutating _modify { yield &state.isStreaming }
    }

    /// The intake's record of the request.
    final class State {
        fileprivate(set) var headStorage: [UInt8] = []
        fileprivate(set) var head: RequestHead = RequestHead()
        fileprivate(set) var normalPath: [UInt8] = []
        fileprivate(set) var match: Match = Match()
        fileprivate(set) var body: HeldBody
        fileprivate(set) var bodyStream: BodyStream = BodyStream()
        fileprivate(set) var hash: SHA256Stream? = nil
        fileprivate(set) var scan: JSONScanner? = nil
        fileprivate(set) var digest: Bytes32 = .zero
        fileprivate(set) var isComplete: Bool = false
        fileprivate(set) var bodyStartedAt: MonotonicInstant = MonotonicInstant(nanoseconds: 0)
        fileprivate(set) var trailers: TrailerSection? = nil
        fileprivate(set) var isStreaming: Bool = false

        init(body: consuming HeldBody) { self.body = body }

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            headStorage.removeAll(keepingCapacity: headStorage.capacity <= keptByteCountMax)
            head.reset()
            resetBody()
            hash = nil
            scan = nil
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
