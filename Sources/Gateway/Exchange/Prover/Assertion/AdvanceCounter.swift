import Attestation
import GatewayTokens
import Judgement
import KeyStore
import Policy
import Settings

extension AssertionProver {
    /// Consumes the proof after its signature was checked. An assertion's counter is accepted and
    /// its challenge spent in one step; other proofs that are good for one request are spent.
    func advanceCounter() throws(Refusal) -> Step { try prover.satisfyJudgement() }

    /// Has the counter store accept the counter, if the assertion answers a challenge.
    func advanceHotCounter() throws(Refusal) -> Step {
        let claim = try assertionClaim()
        guard let challenge = claim.challenge else {
            judge.met(.counter)
            return .next
        }
        // The key may have been looked up again meanwhile.
        try prover.checkKey()
        if services.hub.floors.isBehind, site.settings.floors.whenUnkept == .refuse {
            throw Refusal(.storeUnavailable, .floorsUnkept)
        }
        guard let knownFloor = prover.known.key?.counterFloor else { throw Refusal(.keyUnknown) }
        let floor = services.hub.floors.floor(
            of: claim.keyID, known: knownFloor, asOf: prover.known.floorNewsNumber,
            now: services.monotonicMilliseconds)
        guard let floor else {
            services.keyCache.invalidate([claim.keyID])
            try services.lookUpKey(for: exchange, claim.keyID, as: .newerFloor)
            return .wait
        }
        let windowSize = policy.replay.windowSize
        if windowSize == 1, let counter = claim.counter, counter <= floor.strict {
            try check(.counterTooLow)
        }
        let request = CounterAdvance(
            claim.request, of: claim.keyID, windowSize: windowSize,
            challenge: ChallengeUse(
                id: challenge.id, incarnation: challenge.incarnation,
                expiresAt: challenge.expiresAt, isBound: challenge.keyID != nil),
            floor: floor.settled, rates: limiter.keyRates)
        guard let verdict = services.advanceCounter(for: exchange, request) else { return .wait }
        return try take(verdict)
    }

    /// The counter store's answer to ``WorkerServices/advanceCounter(for:_:)``.
    func counterWasAdvanced(_ verdict: CounterVerdict) {
        exchange.resume { () throws(Refusal) in
            try prover.satisfyJudgement { () throws(Refusal) in try take(verdict) }
        }
    }

    private func take(_ verdict: CounterVerdict) throws(Refusal) -> Step {
        state.isJudgedByStore = true
        try check(verdict)
        state.isAccepted = true
        judge.met(.counter)
        return .next
    }

    /// The verified claim; throws if there is none, so that only verified assertions are consumed.
    private func assertionClaim() throws(Refusal) -> AssertionClaim {
        guard case .assertion(let proof) = prover.proof, let claim = proof.claim else {
            throw Refusal(.internalFailure, .undecided)
        }
        return claim
    }

    /// Has the registry accept the counter as well.
    func advanceDurably() throws(Refusal) -> Step {
        let claim = try assertionClaim()
        guard let counter = claim.counter else {
            // Its challenge was spent, which no restart undoes.
            judge.met(.durableCounter)
            return .next
        }
        if claim.challenge == nil { try checkAccepted(counter, of: claim.keyID) }
        try services.advanceDurably(for: exchange, claim.keyID, counter)
        return .wait
    }

    /// Refuses a counter no higher than one that a route with challenges has accepted. The registry
    /// hears of those late.
    private func checkAccepted(_ counter: UInt32, of keyID: KeyID) throws(Refusal) {
        if let highest = services.hub.floors.highest(of: keyID), counter <= highest {
            try check(.counterTooLow)
        }
    }

    /// The registry's answer to ``WorkerServices/advanceDurably(for:_:_:)``.
    func counterWasAdvancedDurably(_ outcome: Result<DurableOutcome, StoreError>) {
        exchange.resume { () throws(Refusal) in
            try prover.satisfyJudgement { () throws(Refusal) in
                try check(outcome)
                let claim = try assertionClaim()
                state.isAccepted = true
                if claim.challenge == nil, let counter = claim.counter {
                    // A cached record has an older floor.
                    services.hub.floors.note(
                        claim.keyID, counter, as: .unheard,
                        now: services.monotonicMilliseconds)
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
            if let keyID = prover.proofFacts.keyID { services.keyCache.invalidate([keyID]) }
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
            // The store may have accepted the assertion, so the client signs again with a new
            // challenge.
            throw Refusal(
                .storeUnavailable, .countersUnknown,
                explanation: "the assertion may have been used: sign again", action: .signAgain)
        }
    }

    /// Logs a conflict once per request. A genuine device signs each challenge with a new counter.
    private func reportConflict() {
        services.meter.add(.counterConflicts)
        guard let keyID = prover.proofFacts.keyID else { return }
        judge.countConflict(of: keyID)
        services.log.event(
            "counter_conflict",
            "\(site.logName(of: keyID)): a counter came again with another challenge; "
                + "two devices may hold the key, or one device went back to an earlier state")
    }

    /// Logs a damaged record. Another program writes where only gateways should.
    private func reportHealing() {
        guard let keyID = prover.proofFacts.keyID else { return }
        services.log.event(
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
            services.log.repeatedEvent("registry_failed", error.description)
            throw Refusal(error)
        }
    }
}

extension ReplayPolicy {
    /// The size of the replay window; `strict` is a window of one.
    var windowSize: Int {
        if case .window(let size) = self { size } else { 1 }
    }
}
