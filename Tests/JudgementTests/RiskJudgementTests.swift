import Judgement
import Policy
import Testing

@Suite("Risk metrics, judged without a gateway")
struct RiskJudgementTests {}

extension RiskJudgementTests {
    private func key(_ metric: UInt32?) -> JudgedRequest.Proof {
        .holds(.attested, ProvenFacts(appID: "TEAM.app", riskMetric: metric))
    }

    /// A route whose rule is about metrics above 3.
    private func route(
        _ action: RiskRule.Action, _ configure: (inout RoutePolicy) -> Void = { _ in }
    ) -> JudgedDemand {
        JudgedDemand {
            $0.risk = RiskRule(max: 3, action)
            configure(&$0)
        }
    }

    @Test("a risk above the threshold is counted, limited or refused; none is not above")
    func threshold() {
        for action in RiskRule.Action.allCases {
            for metric in [nil, 0, 3] as [UInt32?] {
                let verdict = verdict(on: key(metric), route(action))
                #expect(verdict.outcome == Outcome(.verified) && !verdict.isRisky)
                #expect(verdict.tier == .attested)
            }
            for metric in [4, .max] as [UInt32] {
                let verdict = verdict(on: key(metric), route(action))
                let expected: Outcome =
                    switch action {
                    case .observe, .lower: Outcome(.verified)
                    case .limit: Outcome(.limited, .riskTooHigh)
                    case .deny: .refused(.riskTooHigh)
                    }
                #expect(verdict.outcome == expected && verdict.isRisky, "\(action) \(metric)")
            }
        }
    }

    @Test("a risk above the threshold lowers the tier, and the route's words for that tier follow")
    func lowered() {
        /// The decision on what is worth a token, where the route wants more.
        let actions: [(ShortfallAction, Outcome)] = [
            (.deny, .refused(.riskTooHigh, .tier)),
            (.limit, Outcome(.limited, .riskTooHigh, .check(.tier))),
            (.pass, Outcome(.tolerated, .riskTooHigh, .check(.tier))),
        ]
        for (action, expected) in actions {
            for minTier in [TrustTier.none, .token, .deviceCheck, .attested] {
                let route = route(.lower) {
                    $0.minTier = minTier
                    $0.onLowerTier = action
                }
                let lowered = verdict(on: key(4), route)
                #expect(lowered.outcome == (minTier > .token ? expected : Outcome(.verified)))
                #expect(lowered.tier == .token)
                let spared = verdict(on: key(3), route)
                #expect(spared.outcome == Outcome(.verified) && spared.tier == .attested)
            }
        }
    }

    @Test("a rule that lowers names the tier, and raises none")
    func loweredTo() {
        for (tier, left) in [(TrustTier.token, TrustTier.token), (.deviceCheck, .deviceCheck)] {
            let route = route(.lower) { $0.risk?.tier = tier }
            #expect(verdict(on: key(4), route).tier == left)
            let facts = ProvenFacts(appID: "TEAM.app", riskMetric: 4)
            #expect(verdict(on: .holds(.token, facts), route).tier == .token)
        }
        // What was worth too little before is not too little for its risk.
        for metric in [3, 4] as [UInt32] {
            let token = JudgedRequest.Proof.holds(
                .token, ProvenFacts(appID: "TEAM.app", riskMetric: metric))
            let verdict = verdict(on: token, route(.lower) { $0.minTier = .attested })
            #expect(verdict.outcome == .refused(.assertionRequired, .tier))
        }
    }

    @Test("what a store refuses later takes nothing from the limit of a key at risk")
    func laterFault() {
        var request = JudgedRequest(route(.limit), laterFault: Refusal(.assertionReplayed))
        let verdict = request.verdict(on: key(4))
        #expect(verdict.outcome == .refused(.assertionReplayed) && verdict.bucket == .replayed)
        // The limit was only tried: what is owed to it is taken when a request is accepted.
        #expect(request.questions == [.risk] && request.judgement.owesRiskRate)
    }

    @Test("a limit that has no room, or is not there, refuses")
    func rooms() {
        let full = verdict(on: key(4), route(.limit), room: .isUsedUp)
        #expect(full.outcome == Outcome(.refused, .rateLimited, Room.refusal.cause))
        #expect(full.bucket == .invalid && full.isRefusedByProof)
        #expect(
            verdict(on: key(4), route(.limit), room: .isMissing).outcome == .refused(.riskTooHigh))
    }

    @Test("a key at risk is only observed where the route observes, and asks no limit")
    func observed() {
        for action in [RiskRule.Action.limit, .deny] {
            var request = JudgedRequest(route(action) { $0.mode = .observe })
            let verdict = request.verdict(on: key(4))
            #expect(verdict.outcome == Outcome(.observed, .riskTooHigh) && verdict.isRisky)
            #expect(request.questions.isEmpty && verdict.unprovedResult == "unverified")
        }
    }
}
