import Attestation
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

/// Finds out what the judgement needs to know about a proof, and has the stores do their part. Each
/// kind of proof has a folder below `Prover`.
extension Prover {
    /// Looks for the proof that the head announces.
    func readAnnouncement() { state.take(announcedProof()) }

    /// Notes how far an assertion has come.
    func take(_ step: AssertionProof) { state.take(.assertion(step)) }

    /// The request is not accepted on the word of its proof.
    func reject() {
        if case .assertion(let proof) = state.proof, let claim = proof.claim {
            take(.rejected(claim.keyID))
        }
    }

    /// The proof that the head announces, if the route accepts its kind.
    private func announcedProof() -> Proof {
        let accepts = policy.accept
        if accepts.contains(.assertion), !intake.uniqueField(site.fieldNames.assertion).isAbsent {
            return .assertion(.announced)
        }
        if accepts.contains(.token) || accepts.contains(.developer),
            !intake.uniqueField(site.fieldNames.token).isAbsent
        {
            return accepts.contains(.developer) && claimsDeveloperToken
                ? .developerToken(.announced) : .sessionToken(.announced)
        }
        if accepts.contains(.deviceCheck), !intake.uniqueField(site.fieldNames.deviceCheck).isAbsent
        {
            return .deviceToken(.announced)
        }
        return accepts.contains(.foreign) ? announcedForeignProof() ?? .none : .none
    }

    /// The refusal for a request without a proof.
    var missingProof: Refusal {
        let accepts = policy.accept
        if accepts.contains(.assertion) { return Refusal(.assertionRequired) }
        return Refusal(
            accepts.contains(.deviceCheck) && accepts.isDisjoint(with: [.token, .developer])
                ? .deviceTokenInvalid : .tokenInvalid, .tokenMissing)
    }

    /// Does what the judgement needs, until this stage has nothing left to do or must wait for a
    /// reply. A fault refuses the request only if its route enforces.
    func satisfyJudgement() throws(Refusal) -> Step {
        try satisfyJudgement { () throws(Refusal) in .next }
    }

    /// Goes on like ``satisfyJudgement()``, after `reply` has handled the awaited reply.
    func satisfyJudgement(after reply: () throws(Refusal) -> Step) throws(Refusal) -> Step {
        do throws(Refusal) {
            if case .wait = try reply() { return .wait }
            let consumes = exchange.phase == .advanceCounter
            while judge.state.judgement.need != .nothing,
                judge.state.judgement.need.isConsumption == consumes
            {
                if case .wait = try satisfy(judge.state.judgement.need) { return .wait }
            }
        } catch {
            // A rate limit says nothing about a valid proof, so it refuses on routes that only
            // observe, too.
            if exchange.phase == .advanceCounter, error.reason == .rateLimited { throw error }
            try judge.refuseOrObserve(error)
        }
        guard exchange.phase == .advanceCounter, match.endpoint == .assertToken else {
            return .next
        }
        return try endpoints.answerToken()
    }

    /// Does one thing that the judgement needs. `wait` if a store or Apple was asked; its reply
    /// completes the step.
    private func satisfy(_ need: Need) throws(Refusal) -> Step {
        switch need {
        case .evidence: if case .wait = try readProof() { return .wait }
        case .earlierUse: return try lookUpDeviceToken()
        case .device: return try askApple()
        case .key: return try findKey()
        case .authenticity: if case .wait = try authenticate() { return .wait }
        case .signals: return try judge.judgeSignals()
        case .standard: try meetStandard()
        case .rate: if isLimitedHere { try limiter.limitKeyRate() }
        case .counter: return try assertions.advanceHotCounter()
        case .durableCounter: return try assertions.advanceDurably()
        case .spending: return try spendDeviceToken()
        case .acceptance: accept()
        case .nothing: break
        }
        judge.met(need)
        return .next
    }

    /// Reads the proof and binds it to this request.
    private func readProof() throws(Refusal) -> Step {
        switch state.proofFacts.kind {
        case nil: break
        case .assertion: return try assertions.readAssertion()
        case .sessionToken: try readSessionToken()
        case .developerToken: try readDeveloperToken()
        case .deviceToken: _ = try readDeviceToken()
        case .foreign:
            if case .foreign(let token) = state.proof { try readForeignToken(token.proof) }
        }
        return .next
    }

    /// Checks the proof by the key that was looked up.
    private func authenticate() throws(Refusal) -> Step {
        if case .assertion(.read(let evidence)) = state.proof {
            return try assertions.verify(evidence)
        }
        try checkKey()
        return .next
    }

    /// Weighs the proof against what the route demands.
    private func meetStandard() throws(Refusal) {
        switch state.proofFacts.kind {
        case nil: break
        case .assertion: try judge.meetStandard(.attested)
        case .sessionToken: try judge.meetStandard(.token)
        case .deviceToken: try judge.meetStandard(.deviceCheck)
        case .developerToken:
            if case .developerToken(let token) = state.proof, let token = token.token {
                try accept(token)
            }
        case .foreign: if case .foreign(let token) = state.proof { try accept(token.proof) }
        }
    }

    /// Notes that every store has accepted what it was asked to accept.
    private func accept() {
        judge.conclude()
        if state.proofFacts.counter == 1 {
            services.meter.countFirstAssertion(ofApp: state.known.app?.id, site)
        }
        retirePredecessor()
        if isLimitedHere { limiter.countKeyRate() }
        // A registry that does not know the key would not store notes about it either.
        if state.known.key != nil, site.signals != nil {
            judge.noteRequestUser()
            judge.countKeyUse()
        }
    }

    /// True if the assertion answers no challenge.
    private var isUnchallenged: Bool {
        if case .assertion(let proof) = proof { proof.claim?.challenge == nil } else { false }
    }

    /// True if this gateway counts the key's requests. If all gateways share a store, the store's
    /// counter script counts them.
    private var isLimitedHere: Bool {
        switch state.proofFacts.kind {
        case .assertion: !services.counters.isShared || isUnchallenged
        case .sessionToken: true
        case .developerToken, .deviceToken, .foreign, nil: false
        }
    }
}
