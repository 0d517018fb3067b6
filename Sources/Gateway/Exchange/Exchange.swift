import Attestation
import Bytes
import EventLoop
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

/// One request and its response, from the head to the access-log line.
///
/// It touches no socket. Its ``ResponseSink`` writes to the client, its ``RequestSink`` to the
/// upstream, and its worker's services answer through ``resume(_:)``. The worker reuses exchanges.
final class Exchange {
    /// The result of a stage.
    enum Step {
        case next
        /// The stage needs something first: body bytes, a store's reply or an upstream's
        /// connection.
        case wait
        /// The client has its answer; only the record remains to be written.
        case answered
    }

    let services: WorkerServices
    var phase = Phase.readHead
    /// Tells late store replies apart: an exchange that was reused has another number.
    var number: UInt64 = 0

    var site: Site
    var client: ClientSide
    var arrival = Arrival()
    /// The reply that the exchange waits for.
    var awaited = Awaited.nothing
    /// The sink for the answer; held until the record is written.
    var downstream: (any ResponseSink)?
    var progress = AnswerProgress()
    /// The charges to the route's quotas; nil for most requests, whose route has none.
    var quotaUse: QuotaUse?
    /// The deadline of the whole request; created for the first request that has one.
    var requestDeadline: Deadline?

    // The state of the parts. Each part changes its own.
    let intakeState: RequestIntake.State
    let checkCallState = CheckCall.State()
    let judgeState = Judge.State()
    let proverState = Prover.State()
    let assertionsState = AssertionProver.State()
    let endpointsState = EndpointDesk.State()
    let adminDeskState = AdminDesk.State()
    let rewriterState = HeadRewriter.State()
    let forwarderState = Forwarder.State()
    let recorderState = Recorder.State()

    /// The bytes of storage that an exchange keeps between requests.
    static let keptByteCountMax = 8 * 1024

    init(services: WorkerServices) {
        self.services = services
        site = services.site
        intakeState = RequestIntake.State(body: HeldBody(services.bodies))
        client = ClientSide(listener: services.idleListener)
    }

    /// The client's address for the log.
    var peerText: String {
        guard let peer = client.peer else { return "unknown" }
        return peer.isUnix ? "unix" : peer.ipText
    }

    /// The key that the request says it is from; nil until its proof was accepted.
    var provenKeyID: KeyID? { judge.state.judgement.tier == .none ? nil : prover.proofFacts.keyID }

    /// How the exchange has ended; until then, what was decided so far.
    var outcome: Outcome { judge.state.judgement.outcome }

    // Alone, because a copy of the outcome copies its cause.
    var decision: Decision { judge.state.judgement.outcome.decision }
    var reason: Reason { judge.state.judgement.outcome.reason }

    var requestIDText: String {
        var text = ByteBuffer(capacity: 64)
        rewriter.appendRequestID(to: &text)
        return String(decoding: text.readable.array, as: UTF8.self)
    }

    /// Makes the exchange ready for the next request of `downstream`.
    func begin(
        on downstream: (any ResponseSink)?, listener: ListenerContext, peer: SocketAddress,
        isPeerTrusted: Bool
    ) {
        self.downstream = downstream
        // Most requests come over the listener of the last one.
        if client.listener !== listener { client.listener = listener }
        client.peer = peer
        client.isPeerTrusted = isPeerTrusted
        if site !== services.site { site = services.site }
        number = services.nextNumber()
        arrival.requestID = services.random.bytes16()
        phase = .readHead
        arrival.startedAt = services.loop.now
        if site.timeouts.request > 0 { startRequestDeadline(site.timeouts.request) }
    }

    /// Forgets the last request and gives its buffers back.
    func reset() {
        number = 0
        client.forgetConnection()
        arrival = Arrival()
        awaited = .nothing
        downstream = nil
        progress = AnswerProgress()
        if quotaUse != nil { quotaUse = nil }
        requestDeadline?.clear()
        intakeState.reset(keepingAtMost: Self.keptByteCountMax)
        checkCallState.reset(keepingAtMost: Self.keptByteCountMax)
        judgeState.reset(keepingAtMost: Self.keptByteCountMax)
        proverState.reset(keepingAtMost: Self.keptByteCountMax)
        assertionsState.reset(keepingAtMost: Self.keptByteCountMax)
        endpointsState.reset(keepingAtMost: Self.keptByteCountMax)
        adminDeskState.reset(keepingAtMost: Self.keptByteCountMax)
        rewriterState.reset(keepingAtMost: Self.keptByteCountMax)
        forwarderState.reset(keepingAtMost: Self.keptByteCountMax)
        recorderState.reset(keepingAtMost: Self.keptByteCountMax)
    }

    /// Runs stages until one has to wait.
    func advance() {
        do throws(Refusal) {
            try advance(after: try enterStage())
        } catch {
            refuse(error)
        }
    }

    private func advance(after first: Step) throws(Refusal) {
        var step = first
        while true {
            switch step {
            case .wait: return
            case .next: phase = phase.next(of: kind)
            case .answered: phase = .recordAccess
            }
            if number == 0 { return }
            step = try enterStage()
        }
    }

    /// The life of a request, read from top to bottom.
    private func enterStage() throws(Refusal) -> Step {
        switch phase {
        case .readHead: try intake.readHead()
        case .matchRoute: try intake.matchRoute()
        case .decidePolicy: try judge.decidePolicy()
        case .digestBody: try intake.digestBody()
        case .answerLocally: try endpoints.answerLocally()
        case .verifyAssertion: try prover.verifyAssertion()
        case .advanceCounter: try assertions.advanceCounter()
        case .takeQuota: try accountant.takeQuota()
        case .rewriteHeaders: try rewriter.rewriteHeaders()
        case .leaseUpstream: try forwarder.leaseUpstream()
        case .relayResponse: try forwarder.relayResponse()
        case .recordAccess: recorder.recordAccess()
        }
    }

    /// Runs `part` to complete the stage that had to wait, and then the stages after it.
    func resume(_ part: () throws(Refusal) -> Step) {
        // An exchange that waited for the end of the turn has waited for no store or peer.
        if !awaited.isOfThisTurn { services.meter.resumed(phase) }
        awaited = .nothing
        do throws(Refusal) {
            try advance(after: try part())
        } catch {
            refuse(error)
        }
    }

    /// Runs the stage that had to wait once more. The body is complete, or a connection is free.
    func resume() {
        services.meter.resumed(phase)
        advance()
    }

    /// Takes the exchange back to the lease for a retry (`Retry.swift`).
    func returnToLease() {
        // No upstream waits for the client any more.
        forwarder.clientWasHeard()
        intake.rewind()
        phase = .leaseUpstream
        advance()
    }

    /// Answers with a problem document, or drops the connection if the answer has begun.
    func refuse(_ refusal: Refusal) {
        judge.refuse(refusal)
        // The upstream may already have a part of a streamed body.
        forwarder.abandon()
        if progress.isStarted {
            downstream?.abortResponse()
            // The last flush may have found that the client left, and recorded the exchange.
            guard number != 0 else { return }
        } else {
            progress.isStarted = true
            progress.status = refusal.reason.status
            let problem = checkCall.told(
                accountant.tellQuotas(in: Problem.response(to: self, refusal)))
            progress.byteCount = checkCall.isAnswerBodiless ? 0 : problem.body.count
            downstream?.respond(problem)
        }
        phase = .recordAccess
        advance()
    }

    /// Tells an HTTP/2 client that no server has begun the request, so that it may send the request
    /// again (RFC 9113 section 8.7). Other clients get a problem document. Its status is logged and
    /// counted in both cases.
    func handBack(_ refusal: Refusal) {
        guard downstream?.refuseRequest() == true else { return refuse(refusal) }
        judge.refuse(refusal)
        progress.status = refusal.reason.status
        phase = .recordAccess
        advance()
    }

    /// Sends an answer of the gateway's own.
    func answer(_ response: LocalResponse) -> Step {
        judge.answer()
        progress.isStarted = true
        progress.status = response.status
        let response = checkCall.told(accountant.tellQuotas(in: response))
        progress.byteCount = checkCall.isAnswerBodiless ? 0 : response.body.count
        downstream?.respond(response)
        return .answered
    }

    /// The client has disconnected, so no answer can reach it.
    func downstreamIsLost() {
        // A client that leaves before its head was parsed counts against the listener's rate limit,
        // as a refused one does.
        if phase == .readHead { try? limiter.limitListenerRate() }
        downstream = nil
        forwarder.abandon()
        judge.clientLeft(because: services.isCuttingOff ? .check(.drainTimeout) : nil)
        phase = .recordAccess
        advance()
        // This exchange is not reused, and ``ClientWaits`` may hold it for a while.
        intakeState.resetBody()
    }
}
