import AppAttest
import Bytes
import Crypto
import EventLoop
import HTTP
import JSON
import Judgement
import KeyStore
import Settings
import TLS

// What an exchange knows, by what it is about. Each part is forgotten by one assignment.

/// Who is at the other end of the client's connection.
struct ClientSide {
    var listener: ListenerContext
    var peer: SocketAddress?
    /// Whether the peer's word about the client is taken.
    var isPeerTrusted = false
    /// The connection's TLS session; nil without TLS.
    var session: TLSSession?
    /// The client as trusted proxies name it, once that was asked.
    var knownOrigin: ClientOrigin??
    /// A peer that may ask about requests has said who the client of this one is.
    var isOriginSaid = false

    /// Holds nothing of a connection that may end.
    mutating func forgetConnection() {
        session = nil
        knownOrigin = .none
        isOriginSaid = false
    }
}

/// How and when a request has come.
struct Arrival {
    var startedAt = MonotonicInstant(nanoseconds: 0)
    var requestID = Bytes16(word0: 0, word1: 0)
    /// The trusted peer's own id, where it sent one that can be passed on.
    var trustedRequestID: Range32?
    /// The head was made from HTTP/2's fields.
    var isHTTP2 = false
    /// Its client may have left before it began: it lay unread for a while (``Backlog/isLate``), or
    /// was pipelined and the client sends no more.
    var mayBeLeft = false
    /// The place of the request's spans; nil if it gets none.
    var trace: RequestTrace?
    /// A proxy asks about the request, which came to it; nil where the request came here itself.
    var question: CheckQuestion?
}

/// The trace that a request belongs to, and the spans that are made of it there.
struct RequestTrace {
    let traceID: Bytes16
    /// The span that the request was sent from; nil if the trace begins here.
    let parentID: UInt64?
    let spanID: UInt64
    /// The span of the request to the upstream.
    let upstreamSpanID: UInt64
    /// The flags of `traceparent`.
    let flags: UInt8
}

/// What is found out about a body while it comes.
struct BodyIntake: ~Copyable {
    var hash: SHA256Stream?
    /// Finds the client data in the body, in the `body` shape.
    var scan: JSONScanner?
    var digest = Bytes32.zero
    var isComplete = false
    /// When the wait for the body began.
    var startedAt = MonotonicInstant(nanoseconds: 0)
    /// After the body, where the upstream can take them.
    var trailers: TrailerSection?
    /// The body goes on as it comes.
    var isStreaming = false
}

/// Where a request belongs.
struct Match {
    var routeIndex: Int?
    var handling: RouteHandling?
    var endpoint: AppEndpoint?
}

/// What the registry, or the worker's memory of it, has said about the key of a request.
struct KnownKey {
    var key: CachedKey?
    /// The configured app that the key was enrolled for.
    var app: AppIdentity?
    /// How new the floor in ``key`` is: it holds what the news of floors said up to this number.
    var floorNewsNumber: UInt64 = 0
    /// What its use is counted by, once somebody has asked.
    var useMarks: KeyUseMarks?
}

/// What stands for a request's user, address and network, as far as they are counted.
struct KeyUseMarks {
    var user: UInt64?
    var address: UInt64?
    var network: UInt64?
}

/// What the gateway's own endpoints do for a request.
struct OwnWork {
    /// What the operator asks about a device, on the admin listener.
    var inquiry: DeviceInquiry?
    /// What an operator's program asks of the admin API.
    var administration: AdministrationRequest?
    /// The routes that the token asked for shall be good for.
    var tokenAudience: [String] = []
    var enrolment: PendingEnrolment?

    /// Whether it is an operator's request.
    var isAdmin: Bool { inquiry != nil || administration != nil }
}

/// What has been answered so far.
struct AnswerProgress {
    var isStarted = false
    var status: UInt16 = 0
    var byteCount = 0
    /// What a refusal tells the client to do; nil where it was told nothing.
    var toldAction: Reason.Action?
}

/// The way of a request to become a WebSocket.
struct TunnelProgress {
    /// It asks for one, and the route lets it.
    var isAsked = false
    /// The upstream has agreed: bytes go both ways until one side ends.
    var isOpen = false
    /// The bytes that came from the client.
    var byteCount = 0
}

/// The tries to have a request answered by its upstream.
struct UpstreamAttempts {
    /// Where the request stands while every connection is busy.
    enum Queue {
        case outside
        case waiting(UpstreamPool)
        /// Its turn has come.
        case called
    }

    var queue = Queue.outside
    /// Tries that got a connection.
    var count = 0
    var triedServers: [ServerState] = []
    /// The request's body stands behind its head, for one write.
    var isBodyInHead = false
    /// When the first try began.
    var beganAt = MonotonicInstant(nanoseconds: 0)
    /// When the last try began.
    var startedAt = MonotonicInstant(nanoseconds: 0)
    var headAt = MonotonicInstant(nanoseconds: 0)
    var address: String?

    var isCalled: Bool { if case .called = queue { true } else { false } }

    /// Nobody waits for a connection any more.
    mutating func leaveQueue(_ exchange: Exchange) {
        if case .waiting(let pool) = queue { pool.forget(exchange) }
        queue = .outside
    }
}

/// How long an upstream has been waiting for the client.
struct ClientWait {
    /// Nil where it does not wait.
    var since: MonotonicInstant?
    /// Bytes of the body that came meanwhile.
    var byteCount = 0
}
