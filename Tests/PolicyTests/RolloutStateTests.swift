import Policy
import Testing

/// A rollout on a clock that a test moves.
private final class Trial {
    var plan: RolloutPlan
    var now: Int64 = 1_790_000_000_000
    var state: RolloutState

    init(_ configure: (inout RolloutPlan) -> Void = { _ in }) {
        var plan = RolloutPlan(start: 1)
        configure(&plan)
        self.plan = plan
        state = RolloutState(beginning: plan, at: now)
    }

    /// Time passes, then a gateway tells what it has counted; true where that changed anything.
    @discardableResult
    func pass(_ duration: Duration, judged: Int64 = 0, refused: Int64 = 0) -> Bool {
        now += Int64(duration / .milliseconds(1))
        state.add(RolloutCounts(judged: judged, refused: refused), plan, at: now)
        return state.decide(plan, at: now)
    }
}

@Suite("How a rollout moves by itself")
struct RolloutStateTests {}

extension RolloutStateTests {
    private static func daily(_ plan: inout RolloutPlan) {
        plan.schedule = RolloutPlan.Schedule()
    }

    private static func guarded(_ action: RolloutPlan.Guard.Action) -> (inout RolloutPlan) -> Void {
        { plan in
            plan.start = 2
            plan.schedule = RolloutPlan.Schedule()
            var bounds = RolloutPlan.Guard()
            bounds.action = action
            plan.guard = bounds
        }
    }

    @Test("1 %, doubled each day while all goes well, until everybody is reached")
    func doubled() {
        let trial = Trial(Self.daily)
        #expect(trial.state.percent == 1)
        var shares: [Int] = []
        for _ in 0..<9 {
            #expect(!trial.pass(.seconds(24 * 3600 - 1), judged: 1000, refused: 50))
            trial.pass(.seconds(1))
            shares.append(trial.state.percent)
        }
        #expect(shares == [2, 4, 8, 16, 32, 64, 100, 100, 100])
        #expect(trial.state.status == .running)
        #expect(trial.state.cause == .steppedUp)
        #expect(trial.state.previousPercent == 64)
        #expect(trial.state.evidence == RolloutCounts(judged: 1000, refused: 50))
    }

    @Test("points are added, and until is not passed")
    func points() {
        let trial = Trial { plan in
            plan.start = 5
            plan.until = 40
            plan.schedule = RolloutPlan.Schedule()
            plan.schedule?.step = .points(15)
            plan.schedule?.every = .seconds(3600)
        }
        var shares: [Int] = []
        for _ in 0..<4 {
            trial.pass(.seconds(3600), judged: 100)
            shares.append(trial.state.percent)
        }
        #expect(shares == [20, 35, 40, 40])
    }

    @Test("without a schedule it stays, however well it goes")
    func noSchedule() {
        let trial = Trial()
        for _ in 0..<50 { #expect(!trial.pass(.seconds(24 * 3600), judged: 10_000)) }
        #expect(trial.state.percent == 1)
    }

    @Test("too few requests are waited for; a bad day is followed by another try")
    func evidence() {
        let trial = Trial(Self.daily)
        trial.pass(.seconds(24 * 3600), judged: 99)
        #expect(trial.state.percent == 1)
        #expect(trial.pass(.seconds(5), judged: 1))
        #expect(trial.state.percent == 2)
        // 5.1 % refused.
        trial.pass(.seconds(24 * 3600), judged: 1000, refused: 51)
        #expect(trial.state.percent == 2)
        #expect(trial.state.period == RolloutCounts())
        trial.pass(.seconds(3600), judged: 100_000)
        #expect(trial.state.percent == 2)
        trial.pass(.seconds(23 * 3600), judged: 0)
        #expect(trial.state.percent == 4)
    }

    @Test("the guard holds what refuses too much, until somebody resumes it")
    func guardHolds() {
        let trial = Trial(Self.guarded(.hold))
        #expect(!trial.pass(.seconds(10), judged: 199, refused: 199))
        #expect(trial.pass(.seconds(10), judged: 1, refused: 0))
        #expect(trial.state.percent == 2)
        #expect(trial.state.status == .heldByGuard)
        #expect(trial.state.cause == .guardHeld)
        #expect(trial.state.evidence == RolloutCounts(judged: 200, refused: 199))
        for _ in 0..<10 { #expect(!trial.pass(.seconds(24 * 3600), judged: 1000)) }
        #expect(!trial.pass(.seconds(10), judged: 1000, refused: 1000))
        trial.state.resume(at: trial.now)
        #expect(trial.state.status == .running)
        // What was seen before counts no more, for neither.
        #expect(!trial.pass(.seconds(1)))
        trial.pass(.seconds(24 * 3600), judged: 1000)
        #expect(trial.state.percent == 4)
    }

    @Test("where the guard has left nobody, the schedule begins again when it is resumed")
    func resumedFromNothing() {
        let trial = Trial(Self.guarded(.stepBack))
        #expect(trial.pass(.seconds(10), judged: 300, refused: 300))
        #expect(trial.state.percent == 0)
        for _ in 0..<10 { #expect(!trial.pass(.seconds(24 * 3600))) }
        trial.state.resume(at: trial.now)
        #expect(!trial.pass(.seconds(24 * 3600 - 1)))
        // Of nobody there are no requests to wait for.
        #expect(trial.pass(.seconds(1)))
        #expect(trial.state.percent == 2)
        #expect(trial.state.cause == .steppedUp)
        // Of somebody there are.
        #expect(!trial.pass(.seconds(24 * 3600)))
    }

    @Test("at the limit nothing happens, above it does")
    func limit() {
        let trial = Trial(Self.guarded(.hold))
        #expect(!trial.pass(.seconds(1), judged: 200, refused: 10))
        #expect(trial.pass(.seconds(1), judged: 0, refused: 1))
    }

    @Test("the guard steps back, again and again, down to nobody")
    func guardStepsBack() {
        let trial = Trial(Self.guarded(.stepBack))
        trial.state.set(9, at: trial.now)
        trial.state.resume(at: trial.now)
        var shares: [Int] = []
        for _ in 0..<5 {
            trial.pass(.seconds(60), judged: 300, refused: 30)
            shares.append(trial.state.percent)
            // The new share is judged by what it does itself.
            #expect(!trial.pass(.seconds(1), judged: 199, refused: 199))
            trial.pass(.seconds(3600))
        }
        #expect(shares == [4, 2, 0, 0, 0])
        #expect(trial.state.status == .heldByGuard)
        #expect(trial.state.cause == .guardSteppedBack)
    }

    @Test("from nobody the next step is the first")
    func fromNobody() {
        let trial = Trial(Self.guarded(.hold))
        trial.state.set(0, at: trial.now)
        trial.state.resume(at: trial.now)
        #expect(trial.plan.above(0) == 2)
        #expect(trial.plan.below(2) == 0)
        #expect(trial.plan.below(3) == 2)
    }

    @Test("what has left the window is forgotten")
    func window() {
        let trial = Trial(Self.guarded(.hold))
        #expect(!trial.pass(.seconds(1), judged: 150, refused: 150))
        #expect(!trial.pass(.seconds(901), judged: 150, refused: 0))
        #expect(trial.state.window.reduce(0) { $0 + $1.counts.judged } == 150)
        for _ in 0..<200 { trial.pass(.seconds(5), judged: 1) }
        #expect(trial.state.window.count <= RolloutState.slotCountMax)
        let counted = trial.state.window.reduce(0) { $0 + $1.counts.judged }
        #expect(counted >= 160 && counted <= 180)
    }

    @Test("a gateway whose configuration has no guard leaves the others' window alone")
    func mixedPlans() {
        let trial = Trial(Self.guarded(.hold))
        var other = trial.plan
        other.guard = nil
        #expect(!trial.pass(.seconds(60), judged: 150, refused: 150))
        trial.state.add(RolloutCounts(judged: 10), other, at: trial.now)
        let isChanged = trial.state.decide(other, at: trial.now)
        #expect(!isChanged)
        #expect(trial.state.period == RolloutCounts(judged: 160, refused: 150))
        #expect(trial.pass(.seconds(60), judged: 50, refused: 50))
        #expect(trial.state.evidence == RolloutCounts(judged: 200, refused: 200))
    }

    @Test("a clock that was a year ahead when a step was taken does not stop the schedule for one")
    func clockAhead() {
        let trial = Trial(Self.daily)
        let year = Duration.seconds(365 * 24 * 3600)
        trial.pass(year, judged: 100)
        #expect(trial.state.percent == 2)
        trial.now -= Int64(year / .milliseconds(1))
        #expect(!trial.pass(.seconds(1), judged: 100))
        #expect(!trial.pass(.seconds(24 * 3600 - 1)))
        #expect(trial.pass(.seconds(1)))
        #expect(trial.state.percent == 4)
    }

    @Test("a clock that is set back delays, and holds nothing for ever")
    func clockBack() {
        let trial = Trial(Self.guarded(.hold))
        trial.pass(.seconds(60), judged: 100, refused: 100)
        trial.now -= 3_600_000
        #expect(!trial.pass(.seconds(1), judged: 150))
        #expect(trial.state.window.reduce(0) { $0 + $1.counts.judged } == 150)
        #expect(!trial.pass(.seconds(24 * 3600 - 1), judged: 10_000))
        #expect(trial.pass(.seconds(1)))
        #expect(trial.state.percent == 4)
    }

    @Test("what an operator sets or holds nothing moves")
    func byHand() {
        let trial = Trial(Self.guarded(.stepBack))
        trial.state.set(50, at: trial.now)
        #expect(trial.state.status == .heldByOperator && trial.state.percent == 50)
        #expect(!trial.pass(.seconds(60), judged: 1000, refused: 1000))
        #expect(!trial.pass(.seconds(48 * 3600), judged: 100_000))
        trial.state.resume(at: trial.now)
        trial.state.hold(at: trial.now)
        #expect(trial.state.cause == .held && trial.state.percent == 50)
        #expect(!trial.pass(.seconds(48 * 3600), judged: 100_000))
        trial.state.resume(at: trial.now)
        trial.pass(.seconds(24 * 3600), judged: 1000)
        #expect(trial.state.percent == 100)
    }

    @Test("refusals that are counted before their requests wait for them")
    func bounded() {
        #expect(
            RolloutCounts(judged: 1, refused: 3).bounded == RolloutCounts(judged: 1, refused: 1))
        #expect(RolloutCounts(judged: -1, refused: 3).bounded == RolloutCounts())
    }
}
