import Judgement
import Testing

@Suite("Signals, judged without a gateway")
struct SignalJudgementTests {}

extension SignalJudgementTests {
    private static func rule(
        _ signal: Signal, _ action: SignalRule.Action, above countMax: Int = 2
    ) -> SignalRule {
        SignalRule(signal, name: signal.name.description, countMax: countMax, action)
    }

    private static func facts(_ rules: SignalRule..., count: Int = 3) -> SignalFacts {
        var facts = SignalFacts()
        for rule in rules { facts.found(count, by: rule) }
        return facts
    }

    @Test("a signal is raised above its bound, and not at it")
    func bound() {
        let rule = Self.rule(.userKeys, .deny)
        #expect(Self.facts(rule, count: 2).raised.isEmpty)
        #expect(Self.facts(rule, count: 3).raised.map(\.signal) == [.userKeys])
        #expect(Self.facts(rule, count: 3).count(of: .userKeys) == 3)
        #expect(Self.facts(rule).count(of: .addressKeys) == nil)
    }

    @Test("a raised signal denies, is only observed, or asks for its limit, as its rule says")
    func actions() throws {
        var judgement = JudgedDemand().judgement()
        #expect(try judgement.judge(Self.facts(Self.rule(.userKeys, .observe))) == .nothing)
        var denied = JudgedDemand().judgement()
        #expect(throws: Refusal(.abuseSuspected, .signal(name: "keys_per_user"))) {
            try denied.judge(Self.facts(Self.rule(.userKeys, .deny)))
        }
        var limited = JudgedDemand().judgement()
        #expect(
            try limited.judge(Self.facts(Self.rule(.userKeys, .limit)), isTrial: true)
                == .rate(.signal(.userKeys, isTrial: true)))
    }

    @Test("each raised signal is judged in turn, a limit that is missing lets the next one decide")
    func turns() throws {
        let facts = Self.facts(
            Self.rule(.userKeys, .limit), Self.rule(.addressKeys, .limit),
            Self.rule(.keyConflicts, .deny))
        var judgement = JudgedDemand().judgement()
        #expect(try judgement.judge(facts) == .rate(.signal(.userKeys, isTrial: false)))
        #expect(
            try judgement.answer(.hasRoom) == .rate(.signal(.addressKeys, isTrial: false)))
        #expect(throws: Refusal(.abuseSuspected, .signal(name: "conflicts_per_key"))) {
            try judgement.answer(.isMissing)
        }
        let full = Refusal(.rateLimited, .rate(limit: "few", shortfall: nil))
        var other = JudgedDemand().judgement()
        #expect(try other.judge(facts) == .rate(.signal(.userKeys, isTrial: false)))
        #expect(throws: full) { try other.answer(.isUsedUp(full)) }
    }

    @Test("what was raised before has been judged, and is not judged again")
    func later() throws {
        var judgement = JudgedDemand().judgement()
        var facts = Self.facts(Self.rule(.addressAttestations, .limit))
        #expect(
            try judgement.judge(facts) == .rate(.signal(.addressAttestations, isTrial: false)))
        #expect(try judgement.answer(.hasRoom) == .nothing)
        facts.found(3, by: Self.rule(.bit0Keys, .observe))
        #expect(try judgement.judge(facts) == .nothing)
        #expect(judgement.signals?.raised.map(\.signal) == [.addressAttestations, .bit0Keys])
    }
}
