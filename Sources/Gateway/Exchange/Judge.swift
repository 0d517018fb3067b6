import AppAttest
import GatewayTokens
import Judgement
import KeyStore
import Policy
import Settings

/// What the judgement asks for is done here: the judgement itself asks nobody.
extension Exchange {
    /// What the route demands. Inlined, so that whoever asks for a part of it copies no more.
    @inline(__always)
    var policy: RoutePolicy { judgement.demand.policy }

    /// Throws where the route enforces and does not let such requests pass; otherwise notes what
    /// is wrong with it.
    func refuseOrObserve(_ found: Refusal) throws(Refusal) {
        let ask = try judgement.find(
            found, cohort: judgedCohort,
            seemsToBeApp: found.shortfall == .missing && seemsToBeApp,
            hasOpenToken: proof.sessionToken != nil)
        if ask == .unrevokedToken, let token = proof.sessionToken {
            return try acceptUnrevoked(token)
        }
        try settle(ask)
        proof.reject()
    }

    /// The proof holds, and is worth `tier`: what the route demands beside it.
    func meetStandard(_ tier: TrustTier) throws(Refusal) {
        try settle(try judgement.weigh(tier, cohort: judgedCohort, facts: provenFacts))
    }

    /// As ``meetStandard(_:)``, of a proof that says nothing of an app.
    func meetStandard(_ developer: TrustTier, of appID: String?) throws(Refusal) {
        try settle(
            try judgement.weighDeveloper(developer, appID: appID, cohort: judgedCohort))
    }

    private var provenFacts: ProvenFacts {
        ProvenFacts(
            isOfDevice: proofFacts.kind == .deviceToken, appID: known.app?.id ?? proofFacts.appID,
            environments: (known.key?.environment ?? proofFacts.environment)?.asSet ?? .all,
            validationCategory: validationCategory, bundleVersion: bundleVersion,
            riskMetric: known.key?.riskMetric)
    }

    /// The assertion's own map is fresher than the one kept from the attestation.
    var bundleVersion: String? { proofFacts.bundleVersion ?? known.key?.bundleVersion }

    var validationCategory: UInt32? {
        proofFacts.validationCategory ?? known.key?.validationCategory
    }

    /// Asks rate limits until the judgement has no question left.
    func settle(_ first: Judgement.Ask) throws(Refusal) {
        var ask = first
        while case .rate(let question) = ask {
            ask = try judgement.answer(takeRate(question, isTrial: question == .risk))
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
                try takeShortfall(limit, reason, isTrial: isTrial)
            case .risk:
                guard let limit = rates?.risk else { return .isMissing }
                try takeShortfall(limit, .riskTooHigh, isTrial: isTrial)
            case .signal(let signal, let isTrial):
                guard let limit = site.signals?.rule(of: signal)?.rateLimit else {
                    return .isMissing
                }
                try take([limit], isTrial: isTrial)
            }
            return .hasRoom
        } catch {
            return .isUsedUp(error)
        }
    }

    /// What is accepted for good: as it stands, or as its shortfall has it.
    func conclude() {
        if judgement.signals != nil { countRaised() }
        // Others of its key may have come first meanwhile; this one has been let in.
        if judgement.owesRiskRate { _ = takeRate(.risk, isTrial: false) }
        judgement.conclude()
    }

    // MARK: the verdict

    /// Throws where nothing was decided, whatever went wrong before: the gateway fails closed.
    func reachVerdict() throws(Refusal) -> Verdict {
        guard judgement.outcome.decision.forwards else {
            throw Refusal(.internalFailure, .undecided)
        }
        return judgement.verdict(circumstances, identity: provenIdentity)
    }

    var circumstances: Judgement.Circumstances {
        var circumstances = Judgement.Circumstances()
        circumstances.cohort = judgedCohort
        // Most requests of open routes bring nothing, so nobody is named.
        if proofFacts.kind == nil, kind == .route { return circumstances }
        circumstances.isAuthentic = proofFacts.isAuthentic
        circumstances.deviceBits = known.key?.deviceBits
        circumstances.sender.keyID =
            proofFacts.keyID ?? own.enrolment?.keyID ?? own.inquiry?.order?.keyID
        circumstances.sender.appID =
            known.app?.id ?? proofFacts.appID ?? own.enrolment?.record.appID
        switch proofFacts.kind {
        case .developerToken:
            if case .developerToken(.opened(let token)) = proof {
                circumstances.sender.developer = (token.name, token.id)
            }
        case .foreign:
            if case .foreign(let token) = proof { circumstances.sender.foreign = token.proof.name }
        case .assertion, .sessionToken, .deviceToken, nil: break
        }
        return circumstances
    }

    /// Nil for who is nobody.
    private var provenIdentity: Verdict.Identity? {
        guard policy.mode != .off else { return .unasked }
        if proofFacts.kind == .deviceToken, judgement.tier == .deviceCheck,
            let environment = proofFacts.environment
        {
            return .device(environment)
        }
        // Without its key's record a token speaks for itself (`on_store_failure: tokens_only`).
        if let keyID = provenKeyID, let appID = known.app?.id ?? proofFacts.appID,
            let environment = known.key?.environment ?? proofFacts.environment
        {
            return .key(
                IdentityFacts(
                    keyID: keyID, appID: appID, environment: environment,
                    riskMetric: known.key?.riskMetric, bundleVersion: bundleVersion,
                    validationCategory: validationCategory))
        }
        if case .developerToken(.opened(let token)) = proof, judgement.takesWord {
            return .developer(name: token.name)
        }
        if case .foreign(.verified(let proof, _)) = proof, judgement.takesWord {
            return .foreign(name: proof.name)
        }
        return nil
    }
}
