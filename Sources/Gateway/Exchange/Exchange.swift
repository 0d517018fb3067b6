import AppAttest
import Bytes
import Crypto
import EventLoop
import GatewayTokens
import HTTP
import JSON
import KeyStore
import Policy
import Settings
import TLS

/// One request and its response, from the head to the access-log line.
///
/// It touches no socket: its ``ResponseSink`` writes to the client, its ``RequestSink`` to the
/// upstream, the worker's stores answer through ``resume()``. Their worker uses them again.
final class Exchange {
    /// What a stage says when it is done with what it has.
    enum Step {
        case next
        /// Something must arrive first: body bytes, a store's reply, an upstream's connection.
        case wait
        /// The answer is given; only the record remains.
        case answered
    }

    /// Not held: the worker owns whatever refers to it, and outlives it.
    unowned(unsafe) let worker: Worker
    var phase = Phase.readHead
    /// Tells late replies of stores apart: an exchange that was reused has another number.
    var number: UInt64 = 0

    // The request.
    var site: Site
    var listener: ListenerContext
    var peer: SocketAddress?
    /// Of the connection; nil without TLS.
    var session: TLSSession?
    /// Whether the peer's word about the client is taken.
    var isPeerTrusted = false
    /// Whom it comes from, once that was asked.
    var knownOrigin: ClientOrigin??
    /// The head was made from HTTP/2's fields.
    var isHTTP2 = false
    /// Where the head is kept, for whoever writes it.
    var headStorage: [UInt8] = []
    /// The head as received. A value of its own: a stage can hold views into it while it works.
    var headBytes: [UInt8] { headStorage }
    var head = RequestHead()
    var body = HeldBody()
    var bodyHash: SHA256Stream?
    /// Finds the client data in the body, in the `body` shape.
    var bodyScan: JSONScanner?
    var bodyDigest = Bytes32.zero
    var isBodyComplete = false
    /// Since when the body is awaited.
    var bodyStartedAt = MonotonicInstant(nanoseconds: 0)
    /// After the body, where the upstream can take them.
    var trailers: TrailerSection?
    /// The body goes on as it comes.
    var isStreaming = false
    var bodyStream = BodyStream()
    var startedAt = MonotonicInstant(nanoseconds: 0)
    var requestID = Bytes16(word0: 0, word1: 0)
    /// The trusted peer's own id, where it sent one that can be passed on.
    var trustedRequestID: Range32?

    // What was found out about it.
    var normalPath: [UInt8] = []
    var routeIndex: Int?
    var treatment: RouteTreatment?
    var endpoint: AppEndpoint?
    var policy = AttestPolicy()
    var standard: RouteStandard?
    var evidence: Evidence?
    /// A session token stands in for an assertion.
    var bringsToken = false
    var token: SessionToken?
    var developerToken: DeveloperToken?
    /// A token of DeviceCheck stands in for an assertion, and what is known of it.
    var device: DeviceProof?
    /// What the operator asks about a device, on the admin listener.
    var inquiry: DeviceInquiry?
    /// The routes that the token asked for shall be good for.
    var tokenAudience: [String] = []
    var key: CachedKey?
    /// The configured app that the key was enrolled for.
    var app: AppIdentity?
    var isKeyLookedUp = false
    /// How new the floor in ``key`` is: it holds what the news of floors said up to this number.
    var floorNewsNumber: UInt64 = 0
    /// What the configured signals say; nil before that, and where there are none.
    var signals: SignalFacts?
    var isUserLookedUp = false
    var isUserAwaited = false
    /// What it last waited for at the registry is a write.
    var isWriteAwaited = false
    var verified: VerifiedAssertion?
    /// What its proof is worth, once that holds.
    var tier = TrustTier.none
    /// The same, also where that is not enough.
    var worth = TrustTier.none
    /// How it falls short of what its route demands, and passes all the same.
    var shortfall: Shortfall?
    /// It falls short, and the rate limit for such requests had no room for it.
    var isBeyondShortfall = false
    /// The share of its route's cohorts that is refused, as it was when the route was found; nil
    /// where nobody knew.
    var rolloutPercent: Int? = 100
    /// Its app is older than the route wants.
    var isOutdated = false
    /// Its key's risk metric is above what the route wants.
    var isRisky = false
    /// What it is counted against once it is accepted.
    var pendingLimit: RateLimit?
    var counterVerdict: CounterVerdict?
    var durableOutcome: Result<DurableOutcome, StoreError>?
    var isHotCounterAdvanced = false
    var enrolment: PendingEnrolment?

    // The answer.
    /// Held until the record is written.
    var downstream: (any ResponseSink)?
    /// The request head for the upstream, with the body behind it where that is small.
    var upstreamHead = ByteBuffer()
    var isBodyInHead = false
    var upstream: (any RequestSink)?
    /// Tries that got a connection.
    var upstreamAttempts = 0
    var triedServers: [ServerState] = []
    /// Among the requests of its client.
    var place: HeldPlace?
    /// Since when the upstream waits for the client; nil where it does not.
    var keepsUpstreamWaitingSince: MonotonicInstant?
    /// Bytes of the body that came meanwhile.
    var awaitedByteCount = 0
    /// Where it waits for a connection.
    var waitingPool: UpstreamPool?
    /// Its turn has come in that line.
    var isCalled = false
    /// The gateway's own: neither logged nor counted, nor evidence for an ejection.
    var isHealthCheck = false
    /// It asks for a WebSocket, and the route lets it.
    var isUpgrading = false
    /// The upstream has agreed: bytes go both ways until one side ends.
    var isTunnelling = false
    /// From the client through the tunnel.
    var tunnelByteCount = 0
    /// Made for the first request that has one.
    var requestDeadline: Deadline?
    var isAnswerStarted = false
    var decision = Decision.undecided
    var reason = Reason.ok
    /// What its proof, or the lack of one, was found to be, where that was nothing good.
    var bucket: RequestBucket?
    /// What exactly, if there is more to say than the reason.
    var cause: Cause?
    var responseStatus: UInt16 = 0
    var responseByteCount = 0
    var upstreamStartedAt = MonotonicInstant(nanoseconds: 0)
    var upstreamHeadAt = MonotonicInstant(nanoseconds: 0)
    var upstreamAddress: String?

    /// Storage that an exchange keeps between requests.
    static let keptByteCountMax = 8 * 1024

    init(worker: Worker) {
        self.worker = worker
        site = worker.site
        listener = worker.idleListener
    }

    /// The client's address, for the log.
    var peerText: String {
        guard let peer else { return "unknown" }
        return peer.isUnix ? "unix" : peer.ipText
    }

    /// The key that the request says it is from.
    var claimedKeyID: KeyID? { evidence?.keyID ?? token?.keyID }

    /// The same, once that is proved.
    var provenKeyID: KeyID? { tier == .none ? nil : claimedKeyID }

    /// The app that the request says it is from.
    var claimedAppID: String? {
        app?.id ?? token?.appID ?? developerToken?.appID ?? enrolment?.record.appID
    }

    var requestIDText: String {
        var text = ByteBuffer(capacity: 64)
        appendRequestID(to: &text)
        return String(decoding: text.readable.array, as: UTF8.self)
    }

    /// Makes the exchange ready for the next request of `downstream`.
    func begin(
        on downstream: (any ResponseSink)?, listener: ListenerContext, peer: SocketAddress,
        isPeerTrusted: Bool
    ) {
        self.downstream = downstream
        self.listener = listener
        self.peer = peer
        self.isPeerTrusted = isPeerTrusted
        site = worker.site
        number = worker.nextExchangeNumber()
        requestID = worker.nextRequestID()
        phase = .readHead
        startedAt = worker.loop.now
        if site.timeouts.request > 0 { startRequestDeadline(site.timeouts.request) }
    }

    /// Forgets everything about the last request; buffers are given back.
    func reset() {
        headStorage.removeAll(keepingCapacity: headStorage.capacity <= Self.keptByteCountMax)
        head.reset()
        body.reset()
        bodyHash = nil
        if bodyScan != nil { bodyScan = nil }
        bodyDigest = .zero
        isBodyComplete = false
        if trailers != nil { trailers = nil }
        if isStreaming {
            isStreaming = false
            bodyStream = BodyStream()
        }
        isHTTP2 = false
        if knownOrigin != nil { knownOrigin = nil }
        session = nil
        trustedRequestID = nil
        normalPath.removeAll(keepingCapacity: true)
        routeIndex = nil
        treatment = nil
        endpoint = nil
        forgetProof()
        downstream = nil
        upstreamHead.clear(keepingAtMost: Self.keptByteCountMax)
        upstream = nil
        upstreamAttempts = 0
        if !triedServers.isEmpty { triedServers = [] }
        waitingPool = nil
        isCalled = false
        keepsUpstreamWaitingSince = nil
        isHealthCheck = false
        isUpgrading = false
        isTunnelling = false
        tunnelByteCount = 0
        requestDeadline?.clear()
        isAnswerStarted = false
        decision = .undecided
        reason = .ok
        bucket = nil
        if cause != nil { cause = nil }
        responseStatus = 0
        responseByteCount = 0
        upstreamAddress = nil
        number = 0
    }

    /// What was demanded of the last request, and what it brought.
    private func forgetProof() {
        policy = AttestPolicy()
        standard = nil
        evidence = nil
        bringsToken = false
        token = nil
        if developerToken != nil { developerToken = nil }
        if device != nil { device = nil }
        if inquiry != nil { inquiry = nil }
        if !tokenAudience.isEmpty { tokenAudience = [] }
        key = nil
        app = nil
        isKeyLookedUp = false
        if signals != nil { signals = nil }
        isUserLookedUp = false
        isUserAwaited = false
        verified = nil
        tier = .none
        worth = .none
        shortfall = nil
        isBeyondShortfall = false
        rolloutPercent = 100
        isOutdated = false
        isRisky = false
        if pendingLimit != nil { pendingLimit = nil }
        counterVerdict = nil
        durableOutcome = nil
        isHotCounterAdvanced = false
        enrolment = nil
    }

    /// Runs stages until one must wait. Read it top to bottom: it is the life of a request.
    func advance() {
        do throws(Refusal) {
            while true {
                let step =
                    switch phase {
                    case .readHead: try readHead()
                    case .matchRoute: try matchRoute()
                    case .decidePolicy: try decidePolicy()
                    case .digestBody: try digestBody()
                    case .verifyAssertion: try verifyAssertion()
                    case .advanceCounter: try advanceCounter()
                    case .rewriteHeaders: try rewriteHeaders(try reachVerdict())
                    case .leaseUpstream: try leaseUpstream()
                    case .relayResponse: try relayResponse()
                    case .recordAccess: recordAccess()
                    }
                switch step {
                case .wait: return
                case .next: phase = phase.next
                case .answered: phase = .recordAccess
                }
                if number == 0 { return }
            }
        } catch {
            refuse(error)
        }
    }

    /// Goes on at the stage that had to wait.
    func resume() {
        worker.meter.resumed(phase)
        advance()
    }

    /// Takes the exchange back to the lease, for the one safe retry (`Retry.swift`).
    func returnToLease() {
        // No upstream waits for its client any more.
        clientWasHeard()
        phase = .leaseUpstream
        advance()
    }

    /// Answers with a problem document, or drops the connection where the answer has begun.
    func refuse(_ refusal: Refusal) {
        decision = .refused
        tier = .none
        reason = refusal.reason
        cause = refusal.cause
        // Of a body that goes on as it comes, the upstream may have a part.
        upstream?.abandon()
        upstream = nil
        waitingPool?.forget(self)
        waitingPool = nil
        if isAnswerStarted {
            downstream?.abortResponse()
            // The last flush may have found the client gone, and recorded that.
            guard number != 0 else { return }
        } else {
            isAnswerStarted = true
            responseStatus = refusal.reason.status
            let problem = Problem.response(to: self, refusal)
            responseByteCount = problem.body.count
            downstream?.respond(problem)
        }
        phase = .recordAccess
        advance()
    }

    /// Answers from the gateway itself.
    func answer(_ response: LocalResponse) -> Step {
        if decision == .undecided { decision = .answered }
        isAnswerStarted = true
        responseStatus = response.status
        responseByteCount = response.body.count
        downstream?.respond(response)
        return .answered
    }

    /// The client is gone: nobody waits for the answer any more.
    func downstreamIsLost() {
        downstream = nil
        upstream?.abandon()
        upstream = nil
        waitingPool?.forget(self)
        if decision != .refused { reason = .clientClosed }
        phase = .recordAccess
        advance()
    }
}
