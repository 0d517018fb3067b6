import AppAttest
import Bytes
import GatewayTokens
import KeyStore
import Policy

extension Exchange {
    /// Accepts the assertion's counter and spends its challenge: all or nothing, after the
    /// signature, once.
    func advanceCounter() throws(Refusal) -> Step {
        if device != nil, tier == .deviceCheck { return try spendDeviceToken() }
        guard let verified, let evidence else { return .next }
        // With a store that all gateways share, the counter script keeps the buckets of a key.
        let isLimitedHere = evidence.challenge == nil || !worker.counters.isShared
        if isLimitedHere, !isHotCounterAdvanced, counterVerdict == nil, durableOutcome == nil {
            try limitKeyRate()
        }
        do throws(Refusal) {
            if !isHotCounterAdvanced, let challenge = evidence.challenge {
                // Perhaps looked up again meanwhile.
                let (key, _) = try usableKey()
                guard try advanceHotCounter(verified, evidence, challenge, key) else {
                    return .wait
                }
            }
            if policy.replay == .durable {
                guard let durableOutcome else {
                    try worker.advanceDurably(for: self, evidence.keyID, verified)
                    return .wait
                }
                try check(durableOutcome)
                if evidence.challenge == nil {
                    // A cached record has an older floor.
                    worker.hub.floors.note(
                        evidence.keyID, verified.counter, as: .unheard,
                        now: worker.monotonicMilliseconds)
                }
            }
            conclude()
            if isLimitedHere { countKeyRate() }
            noteRequestUser()
        } catch {
            // A limit is no judgement of the proof, and holds where that is only observed.
            if error.reason == .rateLimited { throw error }
            try refuseOrObserve(error)
        }
        if endpoint == .assertToken { return try answerToken() }
        return .next
    }

    /// False while the counter store's verdict is on its way.
    private func advanceHotCounter(
        _ verified: VerifiedAssertion, _ evidence: Evidence, _ challenge: Challenge,
        _ key: CachedKey
    ) throws(Refusal) -> Bool {
        guard let counterVerdict else {
            let floor = worker.hub.floors.floor(
                of: evidence.keyID, known: key.counterFloor, asOf: floorNewsNumber,
                now: worker.monotonicMilliseconds)
            guard let floor else {
                worker.keyCache.invalidate([evidence.keyID])
                try worker.lookUpKey(for: self, evidence.keyID)
                return false
            }
            let windowSize = policy.replay.windowSize
            if windowSize == 1, verified.counter <= floor.strict { try check(.counterTooLow) }
            let request = CounterAdvance(
                verified, of: evidence.keyID, windowSize: windowSize,
                challenge: ChallengeUse(
                    id: challenge.id, incarnation: challenge.incarnation,
                    expiresAt: challenge.expiresAt, isBound: challenge.keyID != nil),
                floor: floor.settled, rates: keyRates)
            guard let verdict = worker.advanceCounter(for: self, request) else { return false }
            try check(verdict)
            isHotCounterAdvanced = true
            return true
        }
        try check(counterVerdict)
        isHotCounterAdvanced = true
        return true
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
        case .rateLimited(let index, let wait): throw keyRateRefusal(index, wait)
        case .revoked:
            if let evidence { worker.keyCache.invalidate([evidence.keyID]) }
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
        guard let evidence else { return }
        countConflict(of: evidence.keyID)
        worker.log.event(
            "counter_conflict",
            "\(site.logName(of: evidence.keyID)): a counter came again with another challenge;"
                + " two devices may hold the key, or one was set back")
    }

    /// Somebody else writes where only gateways should.
    private func reportHealing() {
        guard let evidence else { return }
        worker.log.event(
            "counter_state_healed",
            "\(site.logName(of: evidence.keyID)): what the counter store kept of this key was"
                + " damaged; it goes on at the counter that came now")
    }

    private func check(_ outcome: Result<DurableOutcome, StoreError>) throws(Refusal) {
        switch outcome {
        case .success(.advanced): return
        case .success(.replayed): throw Refusal(.assertionReplayed)
        case .success(.revoked): throw Refusal(.keyRevoked)
        case .success(.unknownKey): throw Refusal(.keyUnknown)
        case .failure(let error): throw Refusal(error)
        }
    }
}

extension ReplayPolicy {
    /// `strict` is a window of one.
    var windowSize: Int {
        if case .window(let size) = self { size } else { 1 }
    }
}
