/// The rule by which a rollout moves by itself.
public struct RolloutPlan: Hashable, Sendable {
    /// The way in which a share grows and shrinks.
    public enum Step: Hashable, Sendable {
        /// The share is multiplied by this number.
        case factor(Int)
        /// The share grows by this many percent points.
        case points(Int)
    }

    /// The schedule by which the share grows.
    public struct Schedule: Hashable, Sendable {
        public var step = Step.factor(2)
        public var every: Duration = .seconds(24 * 3600)
        /// The percentage of the cohort's requests that must not have been refused since the last
        /// step.
        public var successMin = 95
        /// The number of the cohort's requests without which there is no step, because fewer prove
        /// nothing.
        public var requestCountMin = 100

        public init() {}
    }

    /// The guard that stops a rollout that refuses too much.
    public struct Guard: Hashable, Sendable {
        public enum Action: String, Hashable, Sendable, CaseIterable {
            /// The share stays.
            case hold
            /// The share goes back by one step, and by another one for as long as too much is
            /// refused.
            case stepBack = "step_back"
        }

        /// The percentage of refused requests of the cohort, in the window, above which the guard
        /// acts.
        public var refusedMax = 5
        public var window: Duration = .seconds(900)
        /// The number of the cohort's requests in the window without which the guard does not act.
        public var requestCountMin = 200
        public var action = Action.hold

        public init() {}
    }

    /// The share that it begins with, 1 to 100. Another one is another rollout, which starts over.
    public var start: Int
    /// The share at which the schedule ends.
    public var until = 100
    /// The schedule, or nil if the share grows only by hand.
    public var schedule: Schedule?
    /// The guard, or nil if nothing stops the rollout by itself.
    public var `guard`: Guard?

    public init(start: Int) { self.start = start }

    /// The share one step above.
    public func above(_ percent: Int) -> Int {
        // A factor does not lead away from 0.
        guard percent > 0 else { return min(start, until) }
        let next =
            switch step {
            case .factor(let factor): percent * factor
            case .points(let points): percent + points
            }
        return max(percent, min(next, until))
    }

    /// The share one step below; 0 below the first step.
    public func below(_ percent: Int) -> Int {
        guard percent > start else { return 0 }
        let previous =
            switch step {
            case .factor(let factor): percent / factor
            case .points(let points): percent - points
            }
        return max(start, previous)
    }

    private var step: Step { schedule?.step ?? Schedule().step }
}
