import Policy
import YAML

/// Reads `attest.rollout` of a route and `endpoints.attest_rollout`: a share, or a mapping that
/// tells how it moves by itself.
enum RolloutReader {
    static func read(_ field: Field, _ percent: inout Int, _ plan: inout RolloutPlan?) {
        guard field.isMapping else {
            if let fixed = field.percent() { percent = fixed }
            return
        }
        guard let read = field.section({ section in Self.plan(&section) }) else { return }
        plan = read
        percent = read.start
    }

    static func attestRollout(_ field: Field) -> AttestRollout? {
        var rollout = AttestRollout()
        guard field.isMapping else {
            guard let fixed = field.percent() else { return nil }
            rollout.percent = fixed
            return rollout
        }
        return field.section { section in
            section.set("retry_after", &rollout.retryAfter) {
                $0.duration(
                    .seconds(1), .seconds(7 * 24 * 3600),
                    "an app that is told to wait longer is used without having asked")
            }
            if let share = section.field("share") {
                if let fixed = share.percent() { rollout.percent = fixed }
                for key in [
                    "start", "until", "step", "every", "while_success", "min_requests", "guard",
                ] {
                    section.refuse(key, "has no use beside share, which stays as it is")
                }
                return rollout
            }
            let plan = plan(&section)
            rollout.plan = plan
            rollout.percent = plan.start
            return rollout
        }
    }

    private static func plan(_ section: inout Section) -> RolloutPlan {
        var plan = RolloutPlan(start: 1)
        let startField = section.required("start")
        if let start = startField?.share(1...100, "a rollout begins with some") {
            plan.start = start
        }
        let untilField = section.field("until")
        if let until = untilField?.share(1...100, "a rollout ends with some") {
            plan.until = until
            if until < plan.start { untilField?.error("is less than start") }
        }
        plan.schedule = schedule(&section)
        plan.guard = section.field("guard").flatMap(`guard`)
        return plan
    }

    /// Where anything of it is there.
    private static func schedule(_ section: inout Section) -> RolloutPlan.Schedule? {
        var schedule = RolloutPlan.Schedule()
        let step = section.field("step")
        let every = section.field("every")
        if let step = step.flatMap(Self.step) { schedule.step = step }
        if let every = every?.duration(
            .seconds(60), .seconds(31 * 24 * 3600),
            "what a step does wrong takes time to show")
        {
            schedule.every = every
        }
        let rest = [section.field("while_success"), section.field("min_requests")]
        if let success = rest[0]?.share(1...100, "less is no condition") {
            schedule.successMin = success
        }
        if let count = rest[1]?.count(1...1_000_000_000, "without any nothing is known") {
            schedule.requestCountMin = count
        }
        if step != nil || every != nil { return schedule }
        for case let field? in rest {
            field.error("is used with step or every only", at: field.keyMark)
        }
        return nil
    }

    /// `x2`, `+5%`.
    private static func step(_ field: Field) -> RolloutPlan.Step? {
        guard let text = field.text() else { return nil }
        if text.value.first == "x", let factor = Quantity.count(String(text.value.dropFirst())) {
            guard (2...100).contains(factor) else {
                field.error("\(text.shown) is outside x2 to x100: a share that grows")
                return nil
            }
            return .factor(factor)
        }
        if text.value.first == "+",
            case .amount(let points) = Quantity.parse(
                String(text.value.dropFirst()), Quantity.percentUnits)
        {
            guard (1...100).contains(points) else {
                field.error("\(text.shown) is outside +1% to +100%: a share that grows")
                return nil
            }
            return .points(points)
        }
        field.error("\(text.shown) is not a step: write one like x2 or +10%")
        return nil
    }

    private static func `guard`(_ field: Field) -> RolloutPlan.Guard? {
        field.section { section in
            var bounds = RolloutPlan.Guard()
            section.set("refused_max", &bounds.refusedMax) {
                $0.share(0...99, "with all of them nothing is guarded")
            }
            section.set("window", &bounds.window) {
                $0.duration(
                    .seconds(60), .seconds(7 * 24 * 3600),
                    "gateways bring together what they count every few seconds")
            }
            section.set("min_requests", &bounds.requestCountMin) {
                $0.count(1...1_000_000_000, "without any nothing is known")
            }
            section.set("action", &bounds.action) { $0.choice(RolloutPlan.Guard.Action.self) }
            return bounds
        }
    }
}
