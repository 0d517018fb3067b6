import Judgement
import Policy
import Testing

@Suite("Proofs that hold, judged without a gateway")
struct StandardJudgementTests {
    private func demanding(
        minTier: TrustTier = .none, onLowerTier: ShortfallAction = .deny,
        mode: AttestMode = .enforce, takesDevices: Bool = true,
        _ restrict: (inout RoutePolicy) -> Void = { _ in }
    ) -> JudgedDemand {
        JudgedDemand(takesDevices: takesDevices) {
            $0.mode = mode
            $0.minTier = minTier
            $0.onLowerTier = onLowerTier
            restrict(&$0)
        }
    }

    private let facts = ProvenFacts(
        appID: "TEAM.app", environments: .production, validationCategory: 2, bundleVersion: "2.0",
        riskMetric: 50)
}

extension StandardJudgementTests {
    /// What becomes of a proof of `tier` once everything is accepted.
    private func accepted(
        _ demand: JudgedDemand, _ tier: TrustTier = .attested, _ facts: ProvenFacts? = nil,
        reply: Judgement.RateReply = .hasRoom
    ) throws(Refusal) -> Judgement {
        var judgement = demand.judgement()
        var ask = try judgement.weigh(tier, cohort: 0, facts: facts ?? self.facts)
        while case .rate = ask { ask = try judgement.answer(reply) }
        judgement.conclude()
        return judgement
    }

    @Test("a proof that meets everything is verified, with its tier")
    func verified() throws {
        let judgement = try accepted(
            demanding {
                $0.apps = .named(["TEAM.app"], areAll: false)
                $0.environments = .production
                $0.categories = AppCategories([2], orMissing: false)
                $0.risk = RiskRule(max: 50, .deny)
            })
        let verdict = judgement.verdict(Judgement.Circumstances())
        #expect(verdict.outcome == Outcome(.verified))
        #expect(verdict.tier == .attested && verdict.bucket == .verified && !verdict.isRisky)
    }

    @Test("each restriction refuses what is not known, and what is not its own")
    func restrictions() {
        let apps = demanding { $0.apps = .named(["TEAM.other"], areAll: false) }
        #expect(throws: Refusal(.distributionNotAllowed, .appMismatch)) { _ = try accepted(apps) }
        let unknown = ProvenFacts(appID: nil)
        #expect(throws: Refusal(.distributionNotAllowed, .appMismatch)) {
            _ = try accepted(apps, .attested, unknown)
        }
        #expect(throws: Refusal(.distributionNotAllowed, .environment)) {
            _ = try accepted(demanding { $0.environments = .development })
        }
        #expect(throws: Refusal(.distributionNotAllowed, .environment)) {
            _ = try accepted(demanding { $0.environments = .production }, .attested, unknown)
        }
        let categories = demanding { $0.categories = AppCategories([3], orMissing: false) }
        #expect(throws: Refusal(.distributionNotAllowed, .category)) {
            _ = try accepted(categories)
        }
        #expect(throws: Refusal(.distributionNotAllowed, .categoryMissing)) {
            _ = try accepted(categories, .attested, unknown)
        }
    }

    @Test("a device without an app is taken where its team has all of the route's apps")
    func devices() throws {
        let device = ProvenFacts(isOfDevice: true, appID: nil)
        for takesDevices in [true, false] {
            let demand = demanding(takesDevices: takesDevices) {
                $0.apps = .named(["TEAM.app"], areAll: false)
            }
            if takesDevices {
                let accepted = try accepted(demand, .deviceCheck, device)
                #expect(accepted.tier == .deviceCheck)
            } else {
                #expect(throws: Refusal(.distributionNotAllowed, .appMismatch)) {
                    _ = try accepted(demand, .deviceCheck, device)
                }
            }
        }
        // A route of every app asks for no team, whatever else it demands.
        let open = demanding(takesDevices: false) { $0.environments = .production }
        let genuine = ProvenFacts(isOfDevice: true, appID: nil, environments: .production)
        let taken = try accepted(open, .deviceCheck, genuine)
        #expect(taken.tier == .deviceCheck)
    }

    @Test("a proof that is worth less than min_tier is refused, tolerated or observed")
    func tiers() throws {
        for tier in [TrustTier.token, .deviceCheck] {
            let refusal = Refusal(.assertionRequired, .tier)
            #expect(throws: refusal) { _ = try accepted(demanding(minTier: .attested), tier) }
            // Observed by whoever takes the refusal: nothing passes by itself.
            #expect(throws: refusal) {
                _ = try accepted(demanding(minTier: .attested, mode: .observe), tier)
            }
            let tolerated = try accepted(
                demanding(minTier: .attested, onLowerTier: .pass), tier)
            #expect(tolerated.outcome == Outcome(.tolerated, .assertionRequired, .check(.tier)))
            let verdict = tolerated.verdict(Judgement.Circumstances())
            #expect(verdict.tier == tier && verdict.bucket == .lowerTier)
        }
    }

    @Test("a risk above the threshold is observed, lowered or denied as the rule says")
    func risks() throws {
        func rule(_ action: RiskRule.Action) -> (inout RoutePolicy) -> Void {
            { $0.risk = RiskRule(max: 49, action) }
        }
        let observed = try accepted(demanding(rule(.observe)))
        #expect(observed.isRisky && observed.outcome == Outcome(.verified))
        let lowered = try accepted(demanding(rule(.lower)))
        #expect(lowered.tier == .token && lowered.outcome == Outcome(.verified))
        #expect(throws: Refusal(.riskTooHigh, .tier)) {
            _ = try accepted(demanding(minTier: .attested, rule(.lower)))
        }
        #expect(throws: Refusal(.riskTooHigh)) { _ = try accepted(demanding(rule(.deny))) }
    }

    @Test("a risk that a limit lets pass is only tried, and taken once all is accepted")
    func riskLimit() throws {
        var judgement = demanding { $0.risk = RiskRule(max: 49, .limit) }.judgement()
        #expect(try judgement.weigh(.attested, cohort: 0, facts: facts) == .rate(.risk))
        #expect(judgement.owesRiskRate == false)
        #expect(try judgement.answer(.hasRoom) == .nothing)
        #expect(judgement.owesRiskRate && judgement.outcome.decision == .undecided)
        judgement.conclude()
        #expect(judgement.outcome == Outcome(.limited, .riskTooHigh))
        #expect(judgement.tier == .attested)
        let full = Refusal(.rateLimited, .rate(limit: "few", shortfall: .riskTooHigh))
        let limited = self.demanding { $0.risk = RiskRule(max: 49, .limit) }
        #expect(throws: full) { _ = try accepted(limited, reply: .isUsedUp(full)) }
        #expect(throws: Refusal(.riskTooHigh)) { _ = try accepted(limited, reply: .isMissing) }
    }

    @Test("a developer token is measured by its tier and whose app it was made for alone")
    func developers() throws {
        var judgement = demanding(minTier: .token) {
            $0.apps = .named(["TEAM.app"], areAll: false)
            $0.environments = .production
            $0.categories = AppCategories([2], orMissing: false)
        }.judgement()
        #expect(throws: Refusal(.distributionNotAllowed, .appMismatch)) {
            try judgement.weighDeveloper(.token, appID: "TEAM.other", cohort: 0)
        }
        #expect(throws: Refusal(.assertionRequired, .tier)) {
            try judgement.weighDeveloper(.none, appID: "TEAM.app", cohort: 0)
        }
        #expect(
            try judgement.weighDeveloper(.token, appID: "TEAM.app", cohort: 0) == .nothing)
        judgement.acceptDeveloper()
        #expect(judgement.outcome == Outcome(.developer) && judgement.takesWord)
    }

    @Test("a verdict stays as it was reached when the upstream fails later")
    func later() throws {
        var judgement = try accepted(demanding())
        let verdict = judgement.verdict(Judgement.Circumstances())
        judgement.refuse(Refusal(.upstreamFailed, .upstreamFailed(.connectTimeout)))
        #expect(judgement.outcome.decision == .refused && judgement.tier == .none)
        #expect(verdict.outcome == Outcome(.verified) && verdict.tier == .attested)
        let late = judgement.verdict(Judgement.Circumstances())
        #expect(late.tier == .attested && !late.isRefusedByProof)
    }
}
