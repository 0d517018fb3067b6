import Judgement
import Testing

@Suite("Outcomes")
struct OutcomeTests {}

extension OutcomeTests {
    /// A judgement that has come to this decision.
    private func judgement(_ decision: Decision) -> Judgement {
        var judgement = Judgement()
        switch decision {
        case .passed: judgement.pass()
        case .verified: judgement.conclude()
        case .refused: judgement.refuse(Refusal(.keyUnknown, .erased))
        case .answered: judgement.answer()
        default: break
        }
        return judgement
    }

    private static let decisions: [Decision] = [
        .undecided, .passed, .verified, .refused, .answered,
    ]

    @Test("a route that answers itself has decided nothing by not looking")
    func forgetPass() {
        for decision in Self.decisions {
            var judgement = judgement(decision)
            #expect(judgement.outcome.decision == decision)
            judgement.forgetPass()
            #expect(judgement.outcome.decision == (decision == .passed ? .undecided : decision))
        }
    }

    @Test("what was decided before the gateway answers stands")
    func answer() {
        for decision in Self.decisions {
            var judgement = judgement(decision)
            judgement.answer()
            #expect(
                judgement.outcome.decision == (decision == .undecided ? .answered : decision))
        }
    }

    @Test("a client that leaves is the reason, unless the request was refused before")
    func clientLeft() {
        let drained = Cause.check(.drainTimeout)
        for decision in Self.decisions {
            var judgement = judgement(decision)
            judgement.clientLeft()
            #expect(judgement.outcome.decision == decision)
            #expect(
                judgement.outcome.reason == (decision == .refused ? .keyUnknown : .clientClosed))
            let former = judgement.outcome
            judgement.clientLeft(because: drained)
            #expect(judgement.outcome.cause == (decision == .refused ? former.cause : drained))
            judgement.clientLeft()
            #expect(judgement.outcome.cause == (decision == .refused ? former.cause : drained))
        }
    }

    @Test("a note changes the cause and nothing else; a refusal replaces it")
    func note() {
        var judgement = judgement(.verified)
        judgement.note(.check(.revocationUnknown))
        #expect(judgement.outcome == Outcome(.verified, .ok, .check(.revocationUnknown)))
        judgement.refuse(Refusal(.upstreamFailed))
        #expect(judgement.outcome == .refused(.upstreamFailed))
    }
}
