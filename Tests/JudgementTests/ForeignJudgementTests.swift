import Judgement
import Policy
import Testing

@Suite("The judgement of tokens of other issuers")
struct ForeignJudgementTests {}

extension ForeignJudgementTests {
    private func judged(
        _ tier: TrustTier, _ configure: (inout RoutePolicy) -> Void = { _ in }
    ) throws -> (decision: Decision, tier: TrustTier, bucket: RequestBucket?) {
        var judgement = JudgedDemand(rolloutPercent: 100, configure).judgement()
        judgement.begin(.foreign)
        judgement.met(.evidence)
        #expect(try judgement.weighForeign(tier, cohort: 0) == .nothing)
        judgement.acceptForeign()
        judgement.met(.standard)
        #expect(judgement.need == .nothing)
        let verdict = judgement.verdict(Judgement.Circumstances(), identity: .foreign(name: "p"))
        return (verdict.outcome.decision, verdict.tier, verdict.bucket)
    }

    @Test("they are foreign, and good")
    func good() throws {
        for tier in [TrustTier.foreign, .token, .deviceCheck] {
            let judged = try judged(tier)
            #expect(judged.decision == .foreign && judged.tier == tier)
            #expect(judged.bucket == .foreign)
        }
        #expect(RequestBucket.foreign.isGood && RequestBucket.foreign.isJudged)
    }

    @Test("what a route demands of keys does not concern them, its tier does")
    func demands() throws {
        let demanding = try judged(.foreign) {
            $0.environments = .production
        }
        #expect(demanding.decision == .foreign)
        #expect(throws: Refusal(.assertionRequired, .tier)) {
            try judged(.foreign) { $0.minTier = .token }
        }
        let lower = try judged(.foreign) {
            $0.minTier = .attested
            $0.onLowerTier = .pass
        }
        #expect(lower.decision == .tolerated && lower.bucket == .lowerTier)
        #expect(lower.tier == .foreign)
    }

    @Test("a failure behind them leaves what they were")
    func later() throws {
        var judgement = JudgedDemand().judgement()
        judgement.begin(.foreign)
        _ = try judgement.weighForeign(.foreign, cohort: 0)
        judgement.acceptForeign()
        judgement.refuse(Refusal(.upstreamFailed))
        let verdict = judgement.verdict(Judgement.Circumstances())
        let (bucket, isRefusedByProof) = (verdict.bucket, verdict.isRefusedByProof)
        #expect(bucket == .foreign && !isRefusedByProof)
    }
}
