import GatewayTokens
import Judgement
import Policy
import Testing

@Suite("Tokens, judged without a gateway")
struct TokenJudgementTests {}

extension TokenJudgementTests {
    private static let facts = ProvenFacts(appID: "TEAM.app", environments: .production)
    private static let failure = Refusal(.storeUnavailable, .registry)

    @Test("while the registry is away a token counts where the route says tokens_only")
    func registryAway() {
        let open = JudgedRequest.Proof.openToken(Self.facts)
        for policy in StoreFailurePolicy.allCases {
            let route = JudgedDemand { $0.onStoreFailure = policy }
            let expected: Outcome =
                switch policy {
                case .deny: .refused(.storeUnavailable, .registry)
                case .tokensOnly: Outcome(.verified)
                case .limit: Outcome(.limited, .storeUnavailable, .check(.registry))
                case .pass: Outcome(.unjudged, .storeUnavailable, .check(.registry))
                }
            let token = verdict(on: open, route)
            #expect(token.outcome == expected, "\(policy)")
            #expect(token.tier == (policy == .tokensOnly ? .token : .none))
            // What has no token falls short in every case.
            let assertion = verdict(on: .fault(Self.failure), route)
            #expect(
                assertion.outcome
                    == (policy == .tokensOnly ? .refused(.storeUnavailable, .registry) : expected))
            // And what is wrong with a token is no store's fault.
            let bad = Refusal(.tokenInvalid, .tokenFailed(.expired))
            #expect(verdict(on: .fault(bad), route).outcome.decision == .refused)
        }
    }

    @Test("a token whose key nobody could look up must be worth what the route demands")
    func unrevokedTier() {
        for (action, decision) in [
            (ShortfallAction.deny, Decision.refused), (.limit, .limited), (.pass, .tolerated),
        ] {
            let route = JudgedDemand {
                $0.onStoreFailure = .tokensOnly
                $0.minTier = .attested
                $0.onLowerTier = action
            }
            let verdict = verdict(on: .openToken(Self.facts), route)
            #expect(verdict.outcome == Outcome(decision, .assertionRequired, .check(.tier)))
            #expect(verdict.bucket == .lowerTier)
        }
    }

    @Test("as long as nobody knows a rollout's share, a revoked token is no better for it")
    func unknownShare() {
        let revoked = [
            Refusal(.keyRevoked), Refusal(.tokenInvalid, .tokenFailed(.revoked)),
        ]
        for fault in revoked {
            let tokensOnly = JudgedDemand(rolloutPercent: nil) { $0.onStoreFailure = .tokensOnly }
            var request = JudgedRequest(tokensOnly)
            let refused = request.verdict(on: .fault(fault))
            #expect(refused.outcome == .refused(.storeUnavailable, .rollout))
            // A token that is open, and whose key is known to be revoked, stays so.
            var open = tokensOnly.judgement()
            #expect(throws: Refusal(.storeUnavailable, .rollout)) {
                try open.find(fault, hasOpenToken: true)
            }
            // Nor does a developer's name reach the upstream with a token that was taken back.
            var passing = JudgedRequest(
                JudgedDemand(rolloutPercent: nil) { $0.onStoreFailure = .pass })
            let passed = passing.verdict(on: .fault(fault))
            #expect(passed.outcome == Outcome(.unjudged, .storeUnavailable, .check(.rollout)))
            #expect(!passing.judgement.takesWord && passed.unprovedResult == "unverified")
        }
    }

    @Test("a developer's token is measured by its tier alone, and never verified")
    func developers() {
        let demands: (inout RoutePolicy) -> Void = {
            $0.environments = .production
            $0.categories = AppCategories([4], orMissing: false)
            $0.risk = RiskRule(max: 0, .deny)
        }
        for worth in [TrustTier.none, .token] {
            for minTier in [TrustTier.none, .token, .attested] {
                for action in ShortfallAction.allCases {
                    var request = JudgedRequest(
                        JudgedDemand {
                            demands(&$0)
                            $0.minTier = minTier
                            $0.onLowerTier = action
                        })
                    let verdict = request.verdict(on: .developer(worth))
                    let expected: Decision =
                        if worth >= minTier {
                            .developer
                        } else {
                            switch action {
                            case .deny: .refused
                            case .limit: .limited
                            case .pass: .tolerated
                            }
                        }
                    #expect(verdict.outcome.decision == expected)
                    #expect(verdict.tier == worth)
                    #expect(request.judgement.takesWord == expected.forwards)
                }
            }
        }
    }

    @Test("a developer's token that is only observed speaks for nobody")
    func observedDeveloper() {
        var request = JudgedRequest(
            JudgedDemand {
                $0.mode = .observe
                $0.minTier = .attested
            })
        let verdict = request.verdict(on: .developer(.token))
        #expect(verdict.outcome == Outcome(.observed, .assertionRequired, .check(.tier)))
        #expect(!request.judgement.takesWord && verdict.unprovedResult == "unverified")
    }
}
