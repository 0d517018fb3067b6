import Policy
import Testing

/// A rollout on a clock that a test moves.
private final class Course {
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
struct RolloutStateTests {
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
        let course = Course(Self.daily)
        #expect(course.state.percent == 1)
        var shares: [Int] = []
        for _ in 0..<9 {
            #expect(!course.pass(.seconds(24 * 3600 - 1), judged: 1000, refused: 50))
            course.pass(.seconds(1))
            shares.append(course.state.percent)
        }
        #expect(shares == [2, 4, 8, 16, 32, 64, 100, 100, 100])
        #expect(course.state.status == .running)
        #expect(course.state.cause == .steppedUp)
        #expect(course.state.previousPercent == 64)
        #expect(course.state.evidence == RolloutCounts(judged: 1000, refused: 50))
    }

    @Test("points are added, and until is not passed")
    func points() {
        let course = Course { plan in
            plan.start = 5
            plan.until = 40
            plan.schedule = RolloutPlan.Schedule()
            plan.schedule?.step = .points(15)
            plan.schedule?.every = .seconds(3600)
        }
        var shares: [Int] = []
        for _ in 0..<4 {
            course.pass(.seconds(3600), judged: 100)
            shares.append(course.state.percent)
        }
        #expect(shares == [20, 35, 40, 40])
    }

    @Test("without a schedule it stays, however well it goes")
    func noSchedule() {
        let course = Course()
        for _ in 0..<50 { #expect(!course.pass(.seconds(24 * 3600), judged: 10_000)) }
        #expect(course.state.percent == 1)
    }

    @Test("too few requests are waited for; a bad day is followed by another try")
    func evidence() {
        let course = Course(Self.daily)
        course.pass(.seconds(24 * 3600), judged: 99)
        #expect(course.state.percent == 1)
        #expect(course.pass(.seconds(5), judged: 1))
        #expect(course.state.percent == 2)
        // 5.1 % refused.
        course.pass(.seconds(24 * 3600), judged: 1000, refused: 51)
        #expect(course.state.percent == 2)
        #expect(course.state.period == RolloutCounts())
        course.pass(.seconds(3600), judged: 100_000)
        #expect(course.state.percent == 2)
        course.pass(.seconds(23 * 3600), judged: 0)
        #expect(course.state.percent == 4)
    }

    @Test("the guard holds what refuses too much, until somebody resumes it")
    func guardHolds() {
        let course = Course(Self.guarded(.hold))
        #expect(!course.pass(.seconds(10), judged: 199, refused: 199))
        #expect(course.pass(.seconds(10), judged: 1, refused: 0))
        #expect(course.state.percent == 2)
        #expect(course.state.status == .heldByGuard)
        #expect(course.state.cause == .guardHeld)
        #expect(course.state.evidence == RolloutCounts(judged: 200, refused: 199))
        for _ in 0..<10 { #expect(!course.pass(.seconds(24 * 3600), judged: 1000)) }
        #expect(!course.pass(.seconds(10), judged: 1000, refused: 1000))
        course.state.resume(at: course.now)
        #expect(course.state.status == .running)
        // What was seen before counts no more, for neither.
        #expect(!course.pass(.seconds(1)))
        course.pass(.seconds(24 * 3600), judged: 1000)
        #expect(course.state.percent == 4)
    }

    @Test("where the guard has left nobody, the schedule begins again when it is resumed")
    func resumedFromNothing() {
        let course = Course(Self.guarded(.stepBack))
        #expect(course.pass(.seconds(10), judged: 300, refused: 300))
        #expect(course.state.percent == 0)
        for _ in 0..<10 { #expect(!course.pass(.seconds(24 * 3600))) }
        course.state.resume(at: course.now)
        #expect(!course.pass(.seconds(24 * 3600 - 1)))
        // Of nobody there are no requests to wait for.
        #expect(course.pass(.seconds(1)))
        #expect(course.state.percent == 2)
        #expect(course.state.cause == .steppedUp)
        // Of somebody there are.
        #expect(!course.pass(.seconds(24 * 3600)))
    }

    @Test("at the limit nothing happens, above it does")
    func limit() {
        let course = Course(Self.guarded(.hold))
        #expect(!course.pass(.seconds(1), judged: 200, refused: 10))
        #expect(course.pass(.seconds(1), judged: 0, refused: 1))
    }

    @Test("the guard steps back, again and again, down to nobody")
    func guardStepsBack() {
        let course = Course(Self.guarded(.stepBack))
        course.state.set(9, at: course.now)
        course.state.resume(at: course.now)
        var shares: [Int] = []
        for _ in 0..<5 {
            course.pass(.seconds(60), judged: 300, refused: 30)
            shares.append(course.state.percent)
            // The new share is judged by what it does itself.
            #expect(!course.pass(.seconds(1), judged: 199, refused: 199))
            course.pass(.seconds(3600))
        }
        #expect(shares == [4, 2, 0, 0, 0])
        #expect(course.state.status == .heldByGuard)
        #expect(course.state.cause == .guardSteppedBack)
    }

    @Test("from nobody the next step is the first")
    func fromNobody() {
        let course = Course(Self.guarded(.hold))
        course.state.set(0, at: course.now)
        course.state.resume(at: course.now)
        #expect(course.plan.above(0) == 2)
        #expect(course.plan.below(2) == 0)
        #expect(course.plan.below(3) == 2)
    }

    @Test("what has left the window is forgotten")
    func window() {
        let course = Course(Self.guarded(.hold))
        #expect(!course.pass(.seconds(1), judged: 150, refused: 150))
        #expect(!course.pass(.seconds(901), judged: 150, refused: 0))
        #expect(course.state.window.reduce(0) { $0 + $1.counts.judged } == 150)
        for _ in 0..<200 { course.pass(.seconds(5), judged: 1) }
        #expect(course.state.window.count <= RolloutState.slotCountMax)
        let counted = course.state.window.reduce(0) { $0 + $1.counts.judged }
        #expect(counted >= 160 && counted <= 180)
    }

    @Test("a gateway whose configuration has no guard leaves the others' window alone")
    func mixedPlans() {
        let course = Course(Self.guarded(.hold))
        var other = course.plan
        other.guard = nil
        #expect(!course.pass(.seconds(60), judged: 150, refused: 150))
        course.state.add(RolloutCounts(judged: 10), other, at: course.now)
        let isChanged = course.state.decide(other, at: course.now)
        #expect(!isChanged)
        #expect(course.state.period == RolloutCounts(judged: 160, refused: 150))
        #expect(course.pass(.seconds(60), judged: 50, refused: 50))
        #expect(course.state.evidence == RolloutCounts(judged: 200, refused: 200))
    }

    @Test("a clock that was a year ahead when a step was taken does not stop the schedule for one")
    func clockAhead() {
        let course = Course(Self.daily)
        let year = Duration.seconds(365 * 24 * 3600)
        course.pass(year, judged: 100)
        #expect(course.state.percent == 2)
        course.now -= Int64(year / .milliseconds(1))
        #expect(!course.pass(.seconds(1), judged: 100))
        #expect(!course.pass(.seconds(24 * 3600 - 1)))
        #expect(course.pass(.seconds(1)))
        #expect(course.state.percent == 4)
    }

    @Test("a clock that is set back delays, and holds nothing for ever")
    func clockBack() {
        let course = Course(Self.guarded(.hold))
        course.pass(.seconds(60), judged: 100, refused: 100)
        course.now -= 3_600_000
        #expect(!course.pass(.seconds(1), judged: 150))
        #expect(course.state.window.reduce(0) { $0 + $1.counts.judged } == 150)
        #expect(!course.pass(.seconds(24 * 3600 - 1), judged: 10_000))
        #expect(course.pass(.seconds(1)))
        #expect(course.state.percent == 4)
    }

    @Test("what an operator sets or holds nothing moves")
    func byHand() {
        let course = Course(Self.guarded(.stepBack))
        course.state.set(50, at: course.now)
        #expect(course.state.status == .heldByOperator && course.state.percent == 50)
        #expect(!course.pass(.seconds(60), judged: 1000, refused: 1000))
        #expect(!course.pass(.seconds(48 * 3600), judged: 100_000))
        course.state.resume(at: course.now)
        course.state.hold(at: course.now)
        #expect(course.state.cause == .held && course.state.percent == 50)
        #expect(!course.pass(.seconds(48 * 3600), judged: 100_000))
        course.state.resume(at: course.now)
        course.pass(.seconds(24 * 3600), judged: 1000)
        #expect(course.state.percent == 100)
    }

    @Test("refusals that are counted before their requests wait for them")
    func bounded() {
        #expect(
            RolloutCounts(judged: 1, refused: 3).bounded == RolloutCounts(judged: 1, refused: 1))
        #expect(RolloutCounts(judged: -1, refused: 3).bounded == RolloutCounts())
    }
}
