package import Policy

/// The decision about one request: may it pass, as what, and why.
///
/// A pure state machine: it is given what was found out, and answers that there is nothing left to
/// ask, what must be asked, or a refusal. The caller that drives it carries the bytes, asks stores
/// and Apple, and takes from rate limits; at the end it gets the ``Verdict``. A request has one, so
/// that it is never copied.
package struct Judgement: ~Copyable {
    /// The step that the awaited reply continues.
    private enum State {
        case idle
        // Indirect, because hardly any request gets here, and every one has room for this.
        indirect case asksForShortfall(Shortfall, Refusal, isDismissed: Bool)
        indirect case asksForRisk(ProvenFacts, cohort: Int)
        /// Asks for a signal's limit. The slice holds the raised signals that are judged after it.
        indirect case asksForSignal(ArraySlice<SignalRule>, isTrial: Bool)
    }

    package private(set) var demand = RouteDemand.nothing
    /// The share of the route's cohorts that is refused, as it was when the route was found; nil if
    /// it was not known.
    private var rolloutPercent: Int? = 100
    /// The fact that the request waits for, or the next step.
    package private(set) var need = Need.nothing
    private var kind = ProofKind.assertion
    package private(set) var outcome = Outcome()
    /// The tier of the proof, as long as the request stands on it.
    package private(set) var tier = TrustTier.none
    /// The way in which the request falls short of its route's demands but passes all the same.
    package private(set) var shortfall: Shortfall?
    /// True if the app is older than the route wants.
    package private(set) var isOutdated = false
    /// True if the key's risk metric is above the route's threshold.
    package private(set) var isRisky = false
    /// True if it passes by a rate limit that was only tried, and has to be taken from now.
    package private(set) var owesRiskRate = false
    /// The facts of the configured signals; nil before they are known, and if there are none.
    package private(set) var signals: SignalFacts?
    /// The tier of the proof, even if it is not enough.
    private var worth = TrustTier.none
    /// The kind of the proof, or of its absence, if it was not Apple's.
    private var bucket: RequestBucket?
    /// True if it falls short, and the rate limit for such requests had no room for it.
    private var isBeyondLimit = false
    private var state = State.idle

    package init() {}

    /// The policy of the route or the endpoint.
    @inline(__always)
    package var policy: RoutePolicy { demand.policy }

    /// True if nothing is refused and faults are only noted.
    package func isOnlyObserved(_ cohort: Int) -> Bool {
        policy.mode == .observe || !isEnforced(cohort)
    }

    /// True if the rollout has reached `cohort`, or if its share is not known.
    private func isEnforced(_ cohort: Int) -> Bool {
        guard let rolloutPercent, rolloutPercent < 100 else { return true }
        return Rollout.includes(cohort: cohort, percent: rolloutPercent)
    }

    /// True if the judgement depends on the cohort.
    package var asksForCohort: Bool { rolloutPercent.map { $0 < 100 } ?? false }

    // MARK: decisions made at once

    /// The request's route or endpoint is found. `rolloutPercent`: the share of cohorts that the
    /// route refuses now; nil if it is not known.
    package mutating func begin(_ demand: RouteDemand, rolloutPercent: Int? = 100) {
        self.demand = demand
        self.rolloutPercent = rolloutPercent
    }

    /// The route asks for no proof.
    package mutating func pass() { outcome.decision = .passed }

    /// The route answers the request itself, so that passing without a judgement is no decision.
    package mutating func forgetPass() {
        if outcome.decision == .passed { outcome.decision = .undecided }
    }

    /// The gateway answers; an earlier decision about the request stands.
    package mutating func answer() {
        if outcome.decision == .undecided { outcome.decision = .answered }
    }

    /// Refuses the request, for any reason and at any step.
    package mutating func refuse(_ refusal: Refusal) {
        outcome = Outcome(.refused, refusal)
        tier = .none
    }

    /// The client is not waiting any more. `cause` says why, if the gateway ended the wait.
    package mutating func clientLeft(because cause: Cause? = nil) {
        guard outcome.decision != .refused else { return }
        (outcome.reason, outcome.cause) = (.clientClosed, cause ?? outcome.cause)
    }

    /// Notes the cause, if there is more to say than the reason.
    package mutating func note(_ cause: Cause?) { outcome.cause = cause }

    // MARK: step by step

    /// Begins with a proof of this kind, which the request brings or announces.
    package mutating func begin(_ kind: ProofKind) {
        self.kind = kind
        need = .evidence
    }

    /// The needed fact is known, or the needed step is done.
    package mutating func met(_ met: Need) {
        if met == need { need = need.next(for: kind, policy) }
    }

    // MARK: falling short

    /// Notes that the proof has a fault or is missing.
    ///
    /// Throws if the route enforces and does not let such requests pass.
    package mutating func find(
        _ fault: Refusal, cohort: Int = 0, seemsToBeApp: Bool = false, hasOpenToken: Bool = false
    ) throws(Refusal) -> Ask {
        let refusal = inRollout(fault)
        if !isBeyondLimit { bucket = RequestBucket(refusal, seemsToBeApp: seemsToBeApp) }
        if isOnlyObserved(cohort) {
            outcome = Outcome(.observed, refusal)
            dismiss()
            return .nothing
        }
        if policy.onStoreFailure == .tokensOnly, fault.reason == .storeUnavailable, hasOpenToken {
            need = .rate
            return .unrevokedToken
        }
        return try tolerate(refusal, isDismissed: true)
    }

    /// Returns `refusal`, or, if the registry has not said yet whether this cohort is refused, the
    /// refusal for a question that a store did not answer. A limit holds for every cohort.
    private func inRollout(_ refusal: Refusal) -> Refusal {
        guard policy.mode == .enforce, rolloutPercent == nil, !refusal.reason.isBound else {
            return refusal
        }
        return Refusal(.storeUnavailable, .rollout)
    }

    /// Lets a request that falls short pass if its route says so; otherwise throws. `isDismissed`:
    /// its proof does not count then.
    private mutating func tolerate(
        _ refusal: Refusal, isDismissed: Bool
    ) throws(Refusal) -> Ask {
        guard let shortfall = refusal.shortfall else { throw refusal }
        if shortfall != .missing { bucket = RequestBucket(refusal, seemsToBeApp: false) }
        switch demand.action(for: shortfall) {
        case .deny: throw refusal
        case .limit:
            state = .asksForShortfall(shortfall, refusal, isDismissed: isDismissed)
            return .rate(.shortfall(shortfall, refusal.reason))
        case .pass:
            let decision: Decision = shortfall == .unjudged ? .unjudged : .tolerated
            accept(decision, shortfall, refusal, isDismissed: isDismissed)
            return .nothing
        }
    }

    private mutating func accept(
        _ decision: Decision, _ shortfall: Shortfall, _ refusal: Refusal, isDismissed: Bool
    ) {
        outcome = Outcome(decision, refusal)
        self.shortfall = shortfall
        if isDismissed { dismiss() }
    }

    /// Drops the proof: the request does not stand on it, and no further step of it is needed.
    private mutating func dismiss() {
        need = .nothing
        tier = .none
        isOutdated = false
    }

    /// Takes the reply of a rate limit.
    package mutating func answer(_ reply: RateReply) throws(Refusal) -> Ask {
        let asked = state
        state = .idle
        switch asked {
        case .idle: return .nothing
        case .asksForShortfall(let shortfall, let found, let isDismissed):
            switch reply {
            case .hasRoom:
                accept(.limited, shortfall, found, isDismissed: isDismissed)
                return .nothing
            case .isUsedUp(let refusal):
                isBeyondLimit = true
                throw refusal
            case .isMissing: throw found
            }
        case .asksForSignal(let rest, let isTrial):
            if case .isUsedUp(let refusal) = reply { throw refusal }
            return try judge(rest, isTrial: isTrial)
        case .asksForRisk(let facts, let cohort):
            switch reply {
            case .hasRoom:
                owesRiskRate = true
                return try weighVersion(facts, cohort)
            case .isUsedUp(let refusal):
                isBeyondLimit = true
                bucket = RequestBucket(Refusal(.riskTooHigh), seemsToBeApp: false)
                throw refusal
            case .isMissing: throw Refusal(.riskTooHigh)
            }
        }
    }

    // MARK: signals

    /// Takes the facts of the signals, and the earlier facts, whose raised signals were judged
    /// before. Throws for a raised signal that denies. `isTrial`: rate limits are only tried,
    /// because the request may be a replay, which must take nothing from its key, user or address.
    package mutating func judge(
        _ facts: SignalFacts, isTrial: Bool = false
    ) throws(Refusal) -> Ask {
        let judgedCount = signals?.raised.count ?? 0
        signals = facts
        return try judge(facts.raised.dropFirst(judgedCount), isTrial: isTrial)
    }

    private mutating func judge(
        _ raised: ArraySlice<SignalRule>, isTrial: Bool
    ) throws(Refusal) -> Ask {
        for (index, rule) in zip(raised.indices, raised) {
            switch rule.action {
            case .observe: continue
            case .deny: throw Refusal(.abuseSuspected, .signal(name: rule.name))
            case .limit:
                state = .asksForSignal(raised[(index + 1)...], isTrial: isTrial)
                return .rate(.signal(rule.signal, isTrial: isTrial))
            }
        }
        return .nothing
    }

    // MARK: a valid proof

    /// The proof is valid, and of `tier`: checks the other demands of the route. This comes before
    /// anything is spent, so that a refusal here changes nothing.
    package mutating func weigh(
        _ tier: TrustTier, cohort: Int, facts: @autoclosure () -> ProvenFacts
    ) throws(Refusal) -> Ask {
        self.tier = tier
        worth = tier
        guard demand.looksAtApp else {
            return try weighTier(else: .assertionRequired, cohort)
        }
        let facts = facts()
        try demand.check(facts)
        if let risk = policy.risk, risk.isAbove(facts.riskMetric) {
            isRisky = true
            switch risk.action {
            case .observe: break
            case .limit:
                guard !isOnlyObserved(cohort) else { throw Refusal(.riskTooHigh) }
                state = .asksForRisk(facts, cohort: cohort)
                return .rate(.risk)
            case .lower: self.tier = min(tier, risk.tier)
            case .deny: throw Refusal(.riskTooHigh)
            }
        }
        return try weighVersion(facts, cohort)
    }

    private mutating func weighVersion(
        _ facts: ProvenFacts, _ cohort: Int
    ) throws(Refusal) -> Ask {
        if try demand.isOutdated(facts) { isOutdated = true }
        // Another assertion of this key would be refused as well.
        return try weighTier(else: tier < worth ? .riskTooHigh : .assertionRequired, cohort)
    }

    private mutating func weighTier(
        else reason: Reason, _ cohort: Int
    ) throws(Refusal) -> Ask {
        worth = tier
        guard tier < policy.minTier else { return .nothing }
        let refusal = Refusal(reason, .tier)
        if isOnlyObserved(cohort) { throw refusal }
        return try tolerate(refusal, isDismissed: false)
    }

    /// Weighs a developer token, which says nothing about an app: only its tier is checked, and the
    /// app that it was made for.
    package mutating func weighDeveloper(
        _ tier: TrustTier, appID: String?, cohort: Int
    ) throws(Refusal) -> Ask {
        guard demand.takes(appID) else { throw Refusal.appMismatch }
        self.tier = tier
        return try weighTier(else: .assertionRequired, cohort)
    }

    /// Weighs a token of another issuer, which says nothing about a key or its device: the route's
    /// demands on these do not concern it, and only its tier is checked.
    package mutating func weighForeign(
        _ tier: TrustTier, cohort: Int
    ) throws(Refusal) -> Ask {
        self.tier = tier
        return try weighTier(else: .assertionRequired, cohort)
    }

    /// Accepts the request for another issuer's token.
    package mutating func acceptForeign() {
        guard shortfall == nil else { return }
        outcome.decision = .foreign
        bucket = .foreign
    }

    /// Accepts the request for a developer token.
    package mutating func acceptDeveloper() {
        if shortfall == nil { outcome.decision = .developer }
    }

    /// Accepts the proof for good: as it is, or with its shortfall.
    package mutating func conclude() {
        if owesRiskRate {
            outcome.decision = .limited
            if shortfall == nil { outcome.reason = .riskTooHigh }
        } else if shortfall == nil {
            outcome.decision = .verified
        }
    }

    // MARK: the verdict

    /// The verdict as it is now. `identity`: the proven sender of the request, if there is one.
    package func verdict(
        _ circumstances: consuming Circumstances, identity: consuming Verdict.Identity? = nil
    ) -> Verdict {
        let isJudged = demand.isOfRoute && policy.mode != .off
        let cohort = circumstances.cohort
        let bucket = isJudged ? bucket(isAuthentic: circumstances.isAuthentic) : nil
        return Verdict(
            outcome: outcome, tier: provedTier, identity: identity ?? unproved, signals: signals,
            deviceBits: circumstances.deviceBits, isOutdated: isOutdated, isRisky: isRisky,
            bucket: bucket, side: side(cohort), rollout: rollout(cohort), isJudged: isJudged,
            isRefusedByProof: isRefusedByProof, sender: circumstances.sender)
    }

    /// The word for a request without a proven sender. A request that is only observed gets the
    /// general word.
    private var unproved: Verdict.Identity {
        guard policy.mode != .off else { return .unasked }
        let result = outcome.decision == .observed ? nil : shortfall?.result
        return .unproved(result ?? "unverified")
    }

    /// True if the request is accepted for a developer token, or for another issuer's.
    package var takesWord: Bool {
        [.developer, .foreign].contains(outcome.decision) || shortfall == .lowerTier
    }

    /// The tier of its proof, even if it was not enough.
    private var provedTier: TrustTier {
        // Nearly always nothing was proved, or the proof stands.
        guard tier == .none, worth != .none else { return tier }
        return switch outcome.refusal.shortfall {
        case .missing, .invalid, .unjudged: .none
        case .lowerTier, nil: worth
        }
    }

    private func bucket(isAuthentic: Bool) -> RequestBucket? {
        if outcome.decision == .verified { return .verified }
        if let bucket { return bucket }
        if let bucket = outcomeBucket { return bucket }
        // Later failures are not the fault of its proof.
        return isAuthentic ? .verified : nil
    }

    /// The bucket of a missing proof, which was found and noted then.
    private var outcomeBucket: RequestBucket? {
        RequestBucket(outcome.refusal, seemsToBeApp: false)
    }

    /// True if it was refused for the worth of its proof, also by the limit for such requests.
    private var isRefusedByProof: Bool {
        outcome.decision == .refused && (isBeyondLimit || outcomeBucket != nil)
    }

    /// The side of the rollout on which it was judged.
    private func side(_ cohort: Int) -> RolloutSide {
        outcome.decision == .observed || isOnlyObserved(cohort) ? .observed : .enforced
    }

    private func rollout(_ cohort: Int) -> Verdict.RolloutPosition? {
        guard policy.mode == .enforce, let percent = rolloutPercent, percent < 100 else {
            return nil
        }
        return Verdict.RolloutPosition(percent: percent, cohort: cohort)
    }
}
