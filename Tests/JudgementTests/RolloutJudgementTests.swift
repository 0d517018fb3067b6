import GatewayTokens
import Judgement
import Policy
import Testing

@Suite("A rollout's buckets and cohorts, judged without a gateway")
struct RolloutJudgementTests {}

extension RolloutJudgementTests {
    private static let facts = ProvenFacts(appID: "TEAM.app", riskMetric: 4)
    private static let proof = JudgedRequest.Proof.holds(.attested, facts)

    /// What is found wrong with a request, and what it amounts to.
    private static let buckets: [(Refusal, RequestBucket)] = [
        (Refusal(.assertionRequired), .unknownOrigin), (Refusal(.keyUnknown), .unknownOrigin),
        (Refusal(.tokenInvalid, .tokenMissing), .unknownOrigin),
        (Refusal(.deviceTokenInvalid, .tokenMissing), .unknownOrigin),
        (Refusal(.assertionMalformed), .invalid), (Refusal(.assertionInvalid), .invalid),
        (Refusal(.requestMismatch), .invalid), (Refusal(.bodyMismatch), .invalid),
        (Refusal(.keyRevoked), .invalid), (Refusal(.distributionNotAllowed), .invalid),
        (Refusal(.tokenInvalid, .tokenFailed(.expired)), .invalid),
        (Refusal(.deviceTokenInvalid, .deviceTokenBad), .invalid),
        (Refusal(.riskTooHigh), .invalid), (Refusal(.abuseSuspected), .invalid),
        (Refusal(.assertionReplayed), .replayed), (Refusal(.appOutdated), .outdatedClient),
        (Refusal(.challengeExpired), .stale), (Refusal(.challengeRequired), .stale),
        (Refusal(.assertionRequired, .tier), .lowerTier),
        (Refusal(.riskTooHigh, .tier), .lowerTier),
        (Refusal(.storeUnavailable), .unjudged), (Refusal(.gatewayBusy), .unjudged),
    ]

    @Test("requests fall into buckets")
    func buckets() {
        for (fault, bucket) in Self.buckets {
            for mode in [AttestMode.enforce, .observe] {
                let verdict = verdict(on: .fault(fault), JudgedDemand { $0.mode = mode })
                #expect(verdict.bucket == bucket, "\(fault)")
                #expect(verdict.side == (mode == .enforce ? .enforced : .observed))
                #expect(verdict.isRefusedByProof == (mode == .enforce), "\(fault)")
                // The app signs again, and a store's failure is no client's.
                #expect(bucket.isJudged == ![.stale, .unjudged].contains(bucket))
            }
        }
        for mode in [AttestMode.enforce, .observe] {
            let verdict = verdict(on: Self.proof, JudgedDemand { $0.mode = mode })
            #expect(verdict.bucket == .verified && !verdict.isRefusedByProof)
        }
    }

    @Test("a request without a proof is of an outdated app where it seems to be the app's")
    func seemingApps() {
        for mode in [AttestMode.enforce, .observe] {
            for (fault, bucket) in [
                (Refusal(.assertionRequired), RequestBucket.outdatedClient),
                (Refusal(.tokenInvalid, .tokenMissing), .outdatedClient),
                // What brings a proof is judged by that.
                (Refusal(.assertionInvalid), .invalid), (Refusal(.keyUnknown), .unknownOrigin),
            ] {
                var request = JudgedRequest(JudgedDemand { $0.mode = mode }, seemsToBeApp: true)
                #expect(request.verdict(on: .fault(fault)).bucket == bucket)
            }
        }
    }

    @Test("where no proof is asked for, and at the gateway's own endpoints, nothing is counted")
    func unjudged() {
        var off = JudgedDemand { $0.mode = .off }.judgement()
        off.pass()
        let passed = off.verdict(Judgement.Circumstances())
        #expect(passed.bucket == nil && !passed.isJudged && passed.outcome == Outcome(.passed))
        guard case .unasked = passed.identity else {
            Issue.record("\(passed.identity)")
            return
        }
        var policy = RoutePolicy()
        policy.mode = .enforce
        var endpoint = Judgement()
        endpoint.begin(RouteDemand(ofEndpoint: policy))
        endpoint.refuse(Refusal(.assertionInvalid))
        let refused = endpoint.verdict(Judgement.Circumstances())
        #expect(refused.bucket == nil && !refused.isJudged)
    }

    @Test("what is refused for what its key or its rate is counts as that, in either mode")
    func refusedForMore() {
        func route(_ mode: AttestMode) -> JudgedDemand {
            JudgedDemand {
                $0.mode = mode
                $0.minTier = .attested
                $0.onLowerTier = .limit
                $0.onMissing = .limit
                $0.risk = RiskRule(max: 3, .deny)
            }
        }
        let token = JudgedRequest.Proof.holds(.token, ProvenFacts(appID: "TEAM.app"))
        let found: [(JudgedRequest.Proof, RequestBucket)] = [
            (.fault(Refusal(.assertionRequired)), .unknownOrigin), (token, .lowerTier),
        ]
        for (proof, bucket) in found {
            for room in [Room.hasRoom, .isUsedUp] {
                let enforced = verdict(on: proof, route(.enforce), room: room)
                #expect(enforced.bucket == bucket)
                // What a limit let in was not refused.
                #expect(enforced.isRefusedByProof == (room == .isUsedUp))
                #expect(verdict(on: proof, route(.observe), room: room).bucket == bucket)
            }
        }
        #expect(verdict(on: Self.proof, route(.enforce)).bucket == .invalid)
        #expect(verdict(on: Self.proof, route(.observe)).bucket == .invalid)
    }

    @Test("an upstream that fails is no fault of the proof")
    func upstreamFails() {
        let failure = Refusal(.upstreamFailed, .upstreamFailed(.connectTimeout))
        for (proof, mode, bucket) in [
            (Self.proof, AttestMode.enforce, RequestBucket.verified),
            (.fault(Refusal(.assertionRequired)), .observe, .unknownOrigin),
        ] {
            var request = JudgedRequest(JudgedDemand { $0.mode = mode })
            _ = request.verdict(on: proof)
            request.judgement.refuse(failure)
            var circumstances = Judgement.Circumstances()
            circumstances.isAuthentic = mode == .enforce
            let verdict = request.judgement.verdict(circumstances)
            #expect(verdict.bucket == bucket && !verdict.isRefusedByProof)
        }
    }

    @Test("a cohort's side is that of the share, and what is verified counts on it too")
    func sides() {
        for percent in [0, 1, 40, 100] {
            for cohort in [0, 1, 39, 40, 99] {
                let route = JudgedDemand(rolloutPercent: percent)
                let isReached = cohort < percent
                for proof in [Self.proof, .fault(Refusal(.assertionInvalid))] {
                    let verdict = verdict(on: proof, route, cohort: cohort)
                    #expect(verdict.side == (isReached ? .enforced : .observed))
                    #expect(verdict.rollout?.percent == (percent < 100 ? percent : nil))
                    #expect(verdict.rollout.map(\.cohort) == (percent < 100 ? cohort : nil))
                }
                let refused = verdict(on: .fault(Refusal(.keyUnknown)), route, cohort: cohort)
                #expect(refused.outcome.decision == (isReached ? .refused : .observed))
            }
        }
        let observed = JudgedDemand(rolloutPercent: 40) { $0.mode = .observe }
        #expect(verdict(on: Self.proof, observed).rollout == nil)
        for (percent, asks) in [(99, true), (100, false), (nil, false)] as [(Int?, Bool)] {
            let judgement = JudgedDemand(rolloutPercent: percent).judgement()
            #expect(judgement.asksForCohort == asks)
        }
    }

    @Test("as long as nobody knows the share, what is not proved cannot be judged")
    func unknownShare() {
        let verified = verdict(on: Self.proof, JudgedDemand(rolloutPercent: nil))
        #expect(verified.outcome == Outcome(.verified) && verified.bucket == .verified)
        for fault in [Refusal(.assertionRequired), Refusal(.assertionInvalid)] {
            let refused = verdict(on: .fault(fault), JudgedDemand(rolloutPercent: nil))
            #expect(refused.outcome == .refused(.storeUnavailable, .rollout))
            // No client's fault counts against the rollout.
            #expect(refused.bucket == .unjudged && refused.side == .enforced)
            let passed = verdict(
                on: .fault(fault), JudgedDemand(rolloutPercent: nil) { $0.onStoreFailure = .pass })
            #expect(passed.outcome.decision == .unjudged)
            #expect(passed.unprovedResult == "unverified" && passed.bucket == .unjudged)
            // A route that observes needs no share.
            let observed = verdict(
                on: .fault(fault), JudgedDemand(rolloutPercent: nil) { $0.mode = .observe })
            #expect(observed.outcome == Outcome(.observed, fault.reason, fault.cause))
        }
    }
}
