import AppAttest
import Attestation
import GatewayTokens
import Judgement
import Policy
import Testing

@Suite("Requests that fall short, judged without a gateway")
struct ShortfallJudgementTests {}

extension ShortfallJudgementTests {
    /// A refusal for each way to fall short.
    private static let faults: [(Refusal, Shortfall)] = [
        (Refusal(.assertionRequired), .missing),
        (Refusal(.assertionInvalid, .evidenceFailed(SignatureBatch.signatureInvalid)), .invalid),
        (Refusal(.storeUnavailable, .counters), .unjudged),
    ]

    /// What an upstream is told of a request that falls short and passes.
    private static let words: [Shortfall: String] = [
        .missing: "missing", .invalid: "invalid", .unjudged: "unverified",
    ]

    /// The action of one shortfall, those of all others being `deny`.
    private func demand(_ action: ShortfallAction, for shortfall: Shortfall) -> JudgedDemand {
        JudgedDemand {
            switch shortfall {
            case .missing: $0.onMissing = action
            case .invalid: $0.onInvalid = action
            case .unjudged:
                $0.onStoreFailure =
                    switch action {
                    case .deny: .deny
                    case .limit: .limit
                    case .pass: .pass
                    }
            case .lowerTier: $0.onLowerTier = action
            }
        }
    }

    /// The verdict of a request with this fault, asked about in this room.
    private func verdict(
        _ demand: JudgedDemand, _ fault: Refusal, _ room: Room = .hasRoom, cohort: Int = 0
    ) throws(Refusal) -> Verdict {
        var judgement = demand.judgement()
        var ask = try judgement.find(fault, cohort: cohort)
        while case .rate = ask { ask = try judgement.answer(room.reply) }
        return judgement.verdict(Judgement.Circumstances())
    }

    @Test("each way to fall short has the answer of its own setting, and of no other")
    func actions() throws {
        for (fault, shortfall) in Self.faults {
            for setting in [Shortfall.missing, .invalid, .unjudged, .lowerTier] {
                for action in ShortfallAction.allCases {
                    let demand = self.demand(action, for: setting)
                    guard action != .deny, setting == shortfall else {
                        #expect(throws: fault) { _ = try self.verdict(demand, fault) }
                        continue
                    }
                    let verdict = try self.verdict(demand, fault)
                    let passed: Decision = shortfall == .unjudged ? .unjudged : .tolerated
                    #expect(verdict.outcome.decision == (action == .pass ? passed : .limited))
                    #expect(verdict.outcome.reason == fault.reason)
                    #expect(verdict.outcome.cause == fault.cause)
                    #expect(verdict.tier == .none)
                    #expect(verdict.unprovedResult == Self.words[shortfall])
                }
            }
        }
    }

    @Test("a limit without room refuses with its own reason, and one that is missing denies")
    func rooms() {
        for (fault, shortfall) in Self.faults {
            let demand = self.demand(.limit, for: shortfall)
            #expect(throws: Room.refusal) { _ = try verdict(demand, fault, .isUsedUp) }
            #expect(throws: fault) { _ = try verdict(demand, fault, .isMissing) }
        }
    }

    @Test("what the limit refused counts as what the request brought")
    func countedByProof() throws {
        var judgement = self.demand(.limit, for: .invalid).judgement()
        let fault = Refusal(.assertionReplayed)
        #expect(
            try judgement.find(fault) == .rate(.shortfall(.invalid, .assertionReplayed)))
        #expect(throws: Room.refusal) { try judgement.answer(Room.isUsedUp.reply) }
        judgement.refuse(Room.refusal)
        let verdict = judgement.verdict(Judgement.Circumstances())
        #expect(verdict.bucket == .replayed && verdict.isRefusedByProof)
        #expect(verdict.outcome == Outcome(.refused, .rateLimited, Room.refusal.cause))
    }

    @Test("observe refuses nothing, and tells upstreams nothing of what it found")
    func observed() throws {
        for (fault, _) in Self.faults {
            let verdict = try self.verdict(JudgedDemand { $0.mode = .observe }, fault)
            #expect(verdict.outcome == Outcome(.observed, fault.reason, fault.cause))
            #expect(verdict.side == .observed)
            guard case .unproved(let word) = verdict.identity else {
                Issue.record("\(verdict.identity)")
                continue
            }
            #expect("\(word)" == "unverified")
        }
    }

    @Test("a rollout refuses the cohorts below its share, and observes the others")
    func cohorts() throws {
        let demand = JudgedDemand(rolloutPercent: 30)
        for cohort in 0..<100 {
            let fault = Refusal(.keyUnknown)
            if cohort < 30 {
                #expect(throws: fault) { _ = try verdict(demand, fault, cohort: cohort) }
            } else {
                let verdict = try self.verdict(demand, fault, cohort: cohort)
                #expect(verdict.outcome.decision == .observed && verdict.side == .observed)
            }
        }
    }

    @Test("while nobody knows the share, every fault but a reached bound is a store's")
    func unknownShare() {
        let demand = JudgedDemand(rolloutPercent: nil)
        #expect(throws: Refusal(.storeUnavailable, .rollout)) {
            _ = try verdict(demand, Refusal(.keyUnknown))
        }
        for reason in [Reason.rateLimited, .gatewayBusy] {
            #expect(throws: Refusal(reason)) { _ = try verdict(demand, Refusal(reason)) }
        }
    }

    @Test("a bound of the gateway's own passes no route that enforces")
    func bounds() {
        let open = JudgedDemand {
            $0.onMissing = .pass
            $0.onInvalid = .pass
            $0.onStoreFailure = .pass
            $0.onLowerTier = .pass
        }
        for reason in [Reason.rateLimited, .gatewayBusy, .abuseSuspected, .internalFailure] {
            #expect(throws: Refusal(reason)) { _ = try verdict(open, Refusal(reason)) }
        }
    }

    @Test("tokens_only asks for the token where a store failed, and denies all else")
    func tokensOnly() throws {
        let demand = JudgedDemand { $0.onStoreFailure = .tokensOnly }
        var judgement = demand.judgement()
        let failure = Refusal(.storeUnavailable, .registry)
        #expect(try judgement.find(failure, hasOpenToken: true) == .unrevokedToken)
        #expect(throws: failure) { _ = try verdict(demand, failure) }
        let invalid = Refusal(.tokenInvalid, .tokenFailed(.expired))
        #expect(throws: invalid) { try judgement.find(invalid, hasOpenToken: true) }
    }

    @Test("a proof that is not taken is worth nothing, whatever it was worth before")
    func dismissed() throws {
        var judgement = self.demand(.pass, for: .invalid).judgement()
        #expect(
            try judgement.weigh(.attested, cohort: 0, facts: ProvenFacts(appID: "A")) == .nothing)
        #expect(judgement.tier == .attested)
        #expect(try judgement.find(Refusal(.assertionReplayed)) == .nothing)
        judgement.conclude()
        #expect(judgement.tier == .none && judgement.outcome.decision == .tolerated)
        let verdict = judgement.verdict(Judgement.Circumstances())
        #expect(verdict.tier == .none && verdict.bucket == .replayed)
    }

    @Test("nothing is decided by itself, and only decisions that say so are forwarded")
    func undecided() {
        let fresh = JudgedDemand().judgement()
        #expect(fresh.outcome.decision == .undecided)
        let forwarded = Decision.allCases.filter(\.forwards)
        #expect(
            Set(forwarded) == [
                .passed, .verified, .observed, .developer, .foreign, .tolerated, .limited,
                .unjudged,
            ])
    }
}
