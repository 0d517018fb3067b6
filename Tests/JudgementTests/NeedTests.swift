import Judgement
import Policy
import Testing

@Suite("What a proof needs")
struct NeedTests {}

extension NeedTests {
    /// All that is needed on the way of a proof of this kind, in its order.
    private func order(_ kind: ProofKind, _ replay: ReplayPolicy = .strict) -> [Need] {
        var judgement = JudgedDemand { $0.replay = replay }.judgement()
        judgement.begin(kind)
        var order: [Need] = []
        while judgement.need != .nothing, order.count < Need.allCases.count {
            order.append(judgement.need)
            judgement.met(judgement.need)
        }
        return order
    }

    @Test("each kind of proof goes its way to the end")
    func orders() {
        #expect(
            order(.assertion) == [
                .evidence, .key, .authenticity, .signals, .standard, .rate, .counter, .acceptance,
            ])
        #expect(
            order(.assertion, .durable) == [
                .evidence, .key, .authenticity, .signals, .standard, .rate, .counter,
                .durableCounter, .acceptance,
            ])
        #expect(
            order(.sessionToken) == [
                .evidence, .key, .authenticity, .signals, .standard, .rate, .acceptance,
            ])
        #expect(order(.developerToken) == [.evidence, .standard])
        #expect(order(.foreign) == [.evidence, .standard])
        #expect(
            order(.deviceToken) == [
                .evidence, .earlierUse, .device, .standard, .spending, .acceptance,
            ])
    }

    @Test("nothing is consumed before the proof is read, authentic, and worth what is demanded")
    func order() throws {
        for kind in ProofKind.allCases {
            for replay in [ReplayPolicy.strict, .window(8), .durable] {
                let order = order(kind, replay)
                let checks: [Need] = [
                    .evidence, .earlierUse, .device, .key, .authenticity, .signals, .standard,
                ]
                let first = order.firstIndex(where: \.isConsumption) ?? order.endIndex
                #expect(Set(order[..<first]).isSubset(of: checks))
                #expect(!order[first...].contains { !$0.isConsumption })
                #expect(
                    order[..<first].contains(.evidence) && order[..<first].contains(.standard))
            }
        }
    }

    @Test("a reply to what is not needed changes nothing")
    func otherReplies() {
        var judgement = Judgement()
        judgement.begin(.assertion)
        for need in Need.allCases where need != .evidence {
            judgement.met(need)
            #expect(judgement.need == .evidence)
        }
    }

    @Test("of a proof that is not taken nothing more is needed, and so nothing is consumed")
    func dismissed() throws {
        for mode in [AttestMode.observe, .enforce] {
            for kind in ProofKind.allCases {
                var judgement = JudgedDemand {
                    $0.mode = mode
                    $0.onInvalid = .pass
                }.judgement()
                judgement.begin(kind)
                judgement.met(.evidence)
                #expect(try judgement.find(Refusal(.assertionInvalid)) == .nothing)
                #expect(judgement.need == .nothing, "\(mode) \(kind)")
            }
        }
    }

    @Test("a tolerated tier is consumed all the same, and a token nobody could look up as well")
    func tolerated() throws {
        var judgement = JudgedDemand {
            $0.minTier = .attested
            $0.onLowerTier = .pass
        }.judgement()
        judgement.begin(.deviceToken)
        for need in [Need.evidence, .earlierUse, .device] { judgement.met(need) }
        let facts = ProvenFacts(isOfDevice: true, appID: nil)
        #expect(try judgement.weigh(.deviceCheck, cohort: 0, facts: facts) == .nothing)
        judgement.met(.standard)
        #expect(judgement.need == .spending)
        var unjudged = JudgedDemand { $0.onStoreFailure = .tokensOnly }.judgement()
        unjudged.begin(.sessionToken)
        let failure = Refusal(.storeUnavailable, .registry)
        #expect(try unjudged.find(failure, hasOpenToken: true) == .unrevokedToken)
        #expect(unjudged.need == .rate)
    }
}
