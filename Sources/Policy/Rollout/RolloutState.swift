/// Requests of a rollout's cohort that could be judged.
public struct RolloutCounts: Hashable, Sendable {
    public var judged: Int64
    public var refused: Int64

    public init(judged: Int64 = 0, refused: Int64 = 0) {
        self.judged = judged
        self.refused = refused
    }

    public static func + (left: RolloutCounts, right: RolloutCounts) -> RolloutCounts {
        RolloutCounts(judged: left.judged &+ right.judged, refused: left.refused &+ right.refused)
    }

    public static func - (left: RolloutCounts, right: RolloutCounts) -> RolloutCounts {
        RolloutCounts(judged: left.judged &- right.judged, refused: left.refused &- right.refused)
    }

    public static func += (left: inout RolloutCounts, right: RolloutCounts) { left = left + right }

    /// The counts, limited because refusals may be counted before their requests.
    public var bounded: RolloutCounts {
        RolloutCounts(judged: max(0, judged), refused: max(0, min(judged, refused)))
    }

    /// True if more than `percent` of them were refused.
    func isRefused(above percent: Int) -> Bool { refused &* 100 > judged &* Int64(percent) }
}

/// The progress of a rollout and the cause of its last change, which gateways share.
///
/// It is a pure state machine: counts and the time go in, the share comes out. Times are
/// milliseconds since 1970 by the clock of the store that keeps the state. If that clock steps
/// back, nothing happens sooner than it should.
public struct RolloutState: Hashable, Sendable {
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// The schedule may grow the share.
        case running
        /// The guard has acted; an operator must look, and resume. It goes on stepping back.
        case heldByGuard = "held_by_guard"
        /// The operator has stopped it: nothing moves by itself.
        case heldByOperator = "held_by_operator"
    }

    /// The cause of the last change.
    public enum Cause: String, Hashable, Sendable, CaseIterable {
        case started
        case steppedUp = "stepped_up"
        case guardHeld = "guard_held"
        case guardSteppedBack = "guard_stepped_back"
        case set
        case held
        case resumed
    }

    /// Counts of a part of the guard's window.
    public struct Slot: Hashable, Sendable {
        public var startedAt: Int64
        public var counts: RolloutCounts

        public init(startedAt: Int64, counts: RolloutCounts) {
            self.startedAt = startedAt
            self.counts = counts
        }
    }

    /// The share in percent, 0 to 100.
    public var percent: Int
    public var previousPercent: Int
    public var status: Status
    public var cause: Cause
    public var changedAt: Int64
    /// The counts by which the last change was decided.
    public var evidence: RolloutCounts
    /// The time since which the schedule has been waiting for its next step.
    public var periodStartedAt: Int64
    public var period: RolloutCounts
    /// The slots of the guard's window, the oldest first.
    public var window: [Slot]

    /// The number of slots in the guard's window.
    static let slotCount: Int64 = 10
    /// The most slots that are read. A window that was once longer leaves more.
    public static let slotCountMax = 24

    /// Makes the state of a rollout that begins.
    public init(beginning plan: RolloutPlan, at now: Int64) {
        self.init(
            percent: plan.start, previousPercent: 0, status: .running, cause: .started,
            changedAt: now, evidence: RolloutCounts(), periodStartedAt: now,
            period: RolloutCounts(), window: [])
    }

    public init(
        percent: Int, previousPercent: Int, status: Status, cause: Cause, changedAt: Int64,
        evidence: RolloutCounts, periodStartedAt: Int64, period: RolloutCounts, window: [Slot]
    ) {
        self.percent = percent
        self.previousPercent = previousPercent
        self.status = status
        self.cause = cause
        self.changedAt = changedAt
        self.evidence = evidence
        self.periodStartedAt = periodStartedAt
        self.period = period
        self.window = window
    }

    // MARK: counting

    /// Adds what one gateway has counted of the cohort since its last call.
    public mutating func add(_ counts: RolloutCounts, _ plan: RolloutPlan, at now: Int64) {
        period += counts
        // A clock that was ahead would otherwise delay everything until that time.
        periodStartedAt = min(periodStartedAt, now)
        // Other gateways may have a guard, until all have the same configuration.
        guard let bounds = plan.guard else { return }
        let length = bounds.window.milliseconds
        let slotLength = max(1, length / Self.slotCount)
        forget(olderThan: now - length, laterThan: now + slotLength)
        guard counts != RolloutCounts() else { return }
        if let last = window.indices.last, now < window[last].startedAt + slotLength {
            window[last].counts += counts
        } else {
            window.append(Slot(startedAt: now, counts: counts))
        }
        if window.count > Self.slotCountMax { window.removeFirst() }
    }

    /// Drops slots outside the window. Slots of the future would stay for ever after a clock was
    /// set back.
    private mutating func forget(olderThan oldest: Int64, laterThan latest: Int64) {
        window.removeAll { $0.startedAt <= oldest || $0.startedAt > latest }
    }

    // MARK: deciding

    /// Lets guard and schedule act; true if that changed the share or the status.
    public mutating func decide(_ plan: RolloutPlan, at now: Int64) -> Bool {
        guard status != .heldByOperator else { return false }
        return obeyGuard(plan, at: now) || obeySchedule(plan, at: now)
    }

    private mutating func obeyGuard(_ plan: RolloutPlan, at now: Int64) -> Bool {
        guard let bounds = plan.guard else { return false }
        let seen = window.reduce(RolloutCounts()) { $0 + $1.counts }
        guard seen.judged >= Int64(bounds.requestCountMin),
            seen.isRefused(above: bounds.refusedMax)
        else { return false }
        let lower = bounds.action == .stepBack ? plan.below(percent) : percent
        guard lower != percent || status == .running else { return false }
        let cause: Cause = lower == percent ? .guardHeld : .guardSteppedBack
        change(to: lower, .heldByGuard, cause, seen, at: now)
        return true
    }

    private mutating func obeySchedule(_ plan: RolloutPlan, at now: Int64) -> Bool {
        guard status == .running, let schedule = plan.schedule,
            now - periodStartedAt >= schedule.every.milliseconds,
            // A share of 0 brings no requests to count.
            percent == 0 || period.judged >= Int64(schedule.requestCountMin)
        else { return false }
        let next = plan.above(percent)
        guard next > percent, !period.isRefused(above: 100 - schedule.successMin) else {
            // Faults of this period do not count for ever: the next one may be better.
            beginPeriod(at: now)
            return false
        }
        change(to: next, .running, .steppedUp, period, at: now)
        return true
    }

    // MARK: by hand

    /// Sets the share to the operator's value, and keeps it there.
    public mutating func set(_ percent: Int, at now: Int64) {
        change(to: percent, .heldByOperator, .set, RolloutCounts(), at: now)
    }

    /// Keeps the share where it is.
    public mutating func hold(at now: Int64) {
        change(to: percent, .heldByOperator, .held, RolloutCounts(), at: now)
    }

    /// Lets guard and schedule act again, by the counts from now on.
    public mutating func resume(at now: Int64) {
        change(to: percent, .running, .resumed, RolloutCounts(), at: now)
    }

    private mutating func change(
        to percent: Int, _ status: Status, _ cause: Cause, _ evidence: RolloutCounts, at now: Int64
    ) {
        previousPercent = self.percent
        self.percent = percent
        self.status = status
        self.cause = cause
        self.evidence = evidence
        changedAt = now
        // The requests of another cohort say nothing about this one.
        window = []
        beginPeriod(at: now)
    }

    private mutating func beginPeriod(at now: Int64) {
        periodStartedAt = now
        period = RolloutCounts()
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
