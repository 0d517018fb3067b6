import Attestation
import GatewayTokens
import Judgement
import KeyStore
import Policy
import Settings

/// Does what the judgement asks for. The judgement itself asks no store and no limiter.
extension Judge {
    /// Throws if the route enforces and lets no such request pass; otherwise notes the fault.
    func refuseOrObserve(_ found: Refusal) throws(Refusal) {
        let ask = try state.judgement.find(
            found, cohort: judgedCohort,
            seemsToBeApp: found.shortfall == .missing && seemsToBeApp,
            hasOpenToken: prover.proof.sessionToken != nil)
        if ask == .unrevokedToken, let token = prover.proof.sessionToken {
            return try prover.acceptUnrevoked(token)
        }
        try settle(ask)
        prover.reject()
    }

    /// Weighs a valid proof of this tier against what else the route demands.
    func meetStandard(_ tier: TrustTier) throws(Refusal) {
        try settle(try state.judgement.weigh(tier, cohort: judgedCohort, facts: provenFacts))
    }

    /// Weighs a developer token, which says nothing of an app's version or device.
    func meetStandard(_ developer: TrustTier, of appID: String?) throws(Refusal) {
        try settle(
            try state.judgement.weighDeveloper(developer, appID: appID, cohort: judgedCohort))
    }

    private var provenFacts: ProvenFacts {
        ProvenFacts(
            isOfDevice: prover.proofFacts.kind == .deviceToken,
            appID: prover.known.app?.id ?? prover.proofFacts.appID,
            environments: (prover.known.key?.environment ?? prover.proofFacts.environment)?.asSet
                ?? .all,
            validationCategory: validationCategory, bundleVersion: bundleVersion,
            riskMetric: prover.known.key?.riskMetric)
    }

    /// The app's version. An assertion's own is newer than the one that the attestation had.
    var bundleVersion: String? {
        prover.proofFacts.bundleVersion ?? prover.known.key?.bundleVersion
    }

    var validationCategory: UInt32? {
        prover.proofFacts.validationCategory ?? prover.known.key?.validationCategory
    }

    /// Asks rate limits until the judgement needs no more answers.
    func settle(_ first: Judgement.Ask) throws(Refusal) {
        var ask = first
        while case .rate(let question) = ask {
            ask = try state.judgement.answer(takeRate(question, isTrial: question == .risk))
        }
    }

    private func takeRate(
        _ question: Judgement.RateQuestion, isTrial: Bool
    ) -> Judgement.RateReply {
        let rates = match.routeIndex.flatMap { site.rateLimits.shortfalls[$0] }
        do throws(Refusal) {
            switch question {
            case .shortfall(let shortfall, let reason):
                guard let limit = rates?.limit(for: shortfall) else { return .isMissing }
                try limiter.takeShortfall(limit, reason, isTrial: isTrial)
            case .risk:
                guard let limit = rates?.risk else { return .isMissing }
                try limiter.takeShortfall(limit, .riskTooHigh, isTrial: isTrial)
            case .signal(let signal, let isTrial):
                guard let limit = site.signals?.rule(of: signal)?.rateLimit else {
                    return .isMissing
                }
                try limiter.take([limit], isTrial: isTrial)
            }
            return .hasRoom
        } catch {
            return .isUsedUp(error)
        }
    }

    /// Makes an accepted request's decision final, and counts it against the limits that it owes.
    func conclude() {
        if state.judgement.signals != nil { countRaised() }
        // Other requests may have used up the limit meanwhile, but this one was accepted.
        if state.judgement.owesRiskRate { _ = takeRate(.risk, isTrial: false) }
        state.judgement.conclude()
    }

    // MARK: the verdict

    /// Settles the verdict. Throws if nothing was decided, so that the gateway fails closed.
    func reachVerdict() throws(Refusal) {
        guard state.judgement.outcome.decision.forwards else {
            throw Refusal(.internalFailure, .undecided)
        }
        state.verdict = state.judgement.verdict(circumstances, identity: provenIdentity)
    }

    /// Settles the verdict of a request that ended before ``reachVerdict()``.
    func describe() {
        if state.verdict == nil { state.verdict = state.judgement.verdict(circumstances) }
    }

    private var circumstances: Judgement.Circumstances {
        var circumstances = Judgement.Circumstances()
        circumstances.cohort = judgedCohort
        // Most requests of open routes bring no proof, so no sender is named.
        if prover.proofFacts.kind == nil, exchange.kind == .route { return circumstances }
        circumstances.isAuthentic = prover.proofFacts.isAuthentic
        circumstances.deviceBits = prover.known.key?.deviceBits
        circumstances.sender.keyID =
            prover.proofFacts.keyID ?? endpoints.enrolment?.keyID ?? adminDesk.inquiry?.order?.keyID
        circumstances.sender.appID =
            prover.known.app?.id ?? prover.proofFacts.appID ?? endpoints.enrolment?.record.appID
        circumstances.sender.platform =
            prover.known.app?.platform ?? prover.proofFacts.platform
            ?? endpoints.enrolmentPlatform
        switch prover.proofFacts.kind {
        case .developerToken:
            if case .developerToken(.opened(let token)) = prover.proof {
                circumstances.sender.developer = (token.name, token.id)
            }
        case .foreign:
            if case .foreign(let token) = prover.proof {
                circumstances.sender.foreign = token.proof.name
            }
        case .assertion, .sessionToken, .deviceToken, nil: break
        }
        return circumstances
    }

    /// The proved sender; nil if the request has proved none.
    private var provenIdentity: Verdict.Identity? {
        guard policy.mode != .off else { return .unasked }
        if prover.proofFacts.kind == .deviceToken, state.judgement.tier == .deviceCheck,
            let environment = prover.proofFacts.environment
        {
            return .device(environment)
        }
        // Without its key's record, a token's own facts count (`on_store_failure: tokens_only`).
        if let keyID = exchange.provenKeyID,
            let appID = prover.known.app?.id ?? prover.proofFacts.appID,
            let environment = prover.known.key?.environment ?? prover.proofFacts.environment
        {
            return .key(
                IdentityFacts(
                    keyID: keyID,
                    installation: prover.installation(of: keyID), appID: appID,
                    environment: environment,
                    platform: prover.known.app?.platform ?? prover.proofFacts.platform ?? .apple,
                    securityLevel: prover.known.key?.securityLevel
                        ?? prover.proofFacts.securityLevel,
                    riskMetric: prover.known.key?.riskMetric, bundleVersion: bundleVersion,
                    validationCategory: validationCategory))
        }
        if case .developerToken(.opened(let token)) = prover.proof, state.judgement.takesWord {
            return .developer(name: token.name)
        }
        if case .foreign(.verified(let proof, _)) = prover.proof, state.judgement.takesWord {
            return .foreign(name: proof.name)
        }
        return nil
    }
}
