import AppAttest
import GatewayTokens
import Judgement
import KeyStore
import Policy
import Settings

extension AssertionProver {
    /// Consumes the proof: accepts an assertion's counter and spends its challenge, all or nothing,
    /// after the signature, once; or spends what else is good for one request.
    func advanceCounter() throws(Refusal) -> Step { try prover.satisfyJudgement() }

    /// Has the counter store accept the counter, where the assertion answers a challenge.
    func advanceHotCounter() throws(Refusal) -> Step {
        let claim = try assertionClaim()
        guard let challenge = claim.challenge else {
            judge.met(.counter)
            return .next
        }
        // Perhaps looked up again meanwhile.
        try prover.checkKey()
        if worker.hub.floors.isBehind, site.settings.floors.whenUnkept == .refuse {
            throw Refusal(.storeUnavailable, .floorsUnkept)
        }
        guard let knownFloor = prover.known.key?.counterFloor else { throw Refusal(.keyUnknown) }
        let floor = worker.hub.floors.floor(
            of: claim.keyID, known: knownFloor, asOf: prover.known.floorNewsNumber,
            now: worker.monotonicMilliseconds)
        guard let floor else {
            worker.keyCache.invalidate([claim.keyID])
            try worker.lookUpKey(for: exchange, claim.keyID, as: .newerFloor)
            return .wait
        }
        let windowSize = policy.replay.windowSize
        if windowSize == 1, claim.assertion.counter <= floor.strict { try check(.counterTooLow) }
        let request = CounterAdvance(
            claim.assertion, of: claim.keyID, windowSize: windowSize,
            challenge: ChallengeUse(
                id: challenge.id, incarnation: challenge.incarnation,
                expiresAt: challenge.expiresAt, isBound: challenge.keyID != nil),
            floor: floor.settled, rates: limiter.keyRates)
        guard let verdict = worker.advanceCounter(for: exchange, request) else { return .wait }
        return try take(verdict)
    }

    /// The counter store's answer to ``Worker/advanceCounter(for:_:)``.
    func counterWasAdvanced(_ verdict: CounterVerdict) {
        exchange.resume { () throws(Refusal) in
            try prover.satisfyJudgement { () throws(Refusal) in try take(verdict) }
        }
    }

    private func take(_ verdict: CounterVerdict) throws(Refusal) -> Step {
        try check(verdict)
        prover.take(.accepted(try assertionClaim()))
        judge.met(.counter)
        return .next
    }

    /// Nothing is consumed that was not verified.
    private func assertionClaim() throws(Refusal) -> AssertionClaim {
        guard case .assertion(let proof) = prover.proof, let claim = proof.claim else {
            throw Refusal(.internalFailure, .undecided)
        }
        return claim
    }

    /// Has the registry accept it too.
    func advanceDurably() throws(Refusal) -> Step {
        let claim = try assertionClaim()
        if claim.challenge == nil { try checkAccepted(claim) }
        try worker.advanceDurably(for: exchange, claim.keyID, claim.assertion)
        return .wait
    }

    /// The registry hears late of what routes with challenges accept.
    private func checkAccepted(_ claim: AssertionClaim) throws(Refusal) {
        if let highest = worker.hub.floors.highest(of: claim.keyID),
            claim.assertion.counter <= highest
        {
            try check(.counterTooLow)
        }
    }

    /// The registry's answer to ``Worker/advanceDurably(for:_:_:)``.
    func counterWasAdvancedDurably(_ outcome: Result<DurableOutcome, StoreError>) {
        exchange.resume { () throws(Refusal) in
            try prover.satisfyJudgement { () throws(Refusal) in
                try check(outcome)
                let claim = try assertionClaim()
                prover.take(.accepted(claim))
                if claim.challenge == nil {
                    // A cached record has an older floor.
                    worker.hub.floors.note(
                        claim.keyID, claim.assertion.counter, as: .unheard,
                        now: worker.monotonicMilliseconds)
                }
                judge.met(.durableCounter)
                return .next
            }
        }
    }

    private func check(_ verdict: CounterVerdict) throws(Refusal) {
        switch verdict {
        case .accepted: return
        case .replayed: throw Refusal(.assertionReplayed)
        case .challengeSpent: throw Refusal(.challengeExpired, .spent)
        case .counterUsed:
            reportConflict()
            throw Refusal(.assertionReplayed, .counterConflict)
        case .counterTooLow: throw Refusal(.assertionReplayed, .counterTooLow)
        case .rateLimited(let index, let wait): throw limiter.keyRateRefusal(index, wait)
        case .revoked:
            if let keyID = prover.proofFacts.keyID { worker.keyCache.invalidate([keyID]) }
            throw Refusal(.keyRevoked)
        case .challengeExpired: throw Refusal(.challengeExpired, .age)
        case .incarnationChanged: throw Refusal(.challengeExpired, .incarnation)
        case .stateHealed:
            reportHealing()
            throw Refusal(
                .storeUnavailable, .counterState,
                explanation: "the assertion may have been used: sign again", action: .signAgain)
        case .unavailable: throw Refusal(.storeUnavailable, .counters)
        case .full: throw Refusal(.gatewayBusy, .countersFull)
        case .unknown:
            // Perhaps accepted: the client must sign again with a new counter and challenge.
            throw Refusal(
                .storeUnavailable, .countersUnknown,
                explanation: "the assertion may have been used: sign again", action: .signAgain)
        }
    }

    /// Says so once a request, to whoever watches the log: a genuine device counts up.
    private func reportConflict() {
        worker.meter.add(.counterConflicts)
        guard let keyID = prover.proofFacts.keyID else { return }
        judge.countConflict(of: keyID)
        worker.log.event(
            "counter_conflict",
            "\(site.logName(of: keyID)): a counter came again with another challenge; "
                + "two devices may hold the key, or one device went back to an earlier state")
    }

    /// Somebody else writes where only gateways should.
    private func reportHealing() {
        guard let keyID = prover.proofFacts.keyID else { return }
        worker.log.event(
            "counter_state_healed",
            "\(site.logName(of: keyID)): the counter store's record of this key was "
                + "damaged; it continues at the counter that came with this request")
    }

    private func check(_ outcome: Result<DurableOutcome, StoreError>) throws(Refusal) {
        switch outcome {
        case .success(.advanced): return
        case .success(.replayed): throw Refusal(.assertionReplayed)
        case .success(.revoked): throw Refusal(.keyRevoked)
        case .success(.unknownKey): throw Refusal(.keyUnknown)
        case .failure(let error):
            worker.log.repeatedEvent("registry_failed", error.description)
            throw Refusal(error)
        }
    }
}

extension ReplayPolicy {
    /// `strict` is a window of one.
    var windowSize: Int {
        if case .window(let size) = self { size } else { 1 }
    }
}
