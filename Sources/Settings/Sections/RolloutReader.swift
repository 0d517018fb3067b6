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

    static func write(
        _ key: String, _ percent: Int, _ plan: RolloutPlan?, to yaml: inout YAMLText
    ) {
        guard let plan else { return yaml.entry(key, "\(percent)%") }
        yaml.mapping(key) { write(plan, to: &$0) }
    }

    static var shape: Shape {
        .either([Kind<Int>.percent.shape, .section(entries(startIsRequired: true))])
    }

    static var attestRollout: Kind<AttestRollout> {
        let share = Entry(
            "share", Kind<Int>.percent.shape, standard: "100%",
            "A share that stays. In place of it: start and what follows.")
        return Kind(
            .either([
                Kind<Int>.percent.shape,
                .section([share] + entries(startIsRequired: false) + attestForm.entries),
            ]), read: attestRollout
        ) { key, rollout, yaml in
            yaml.mapping(key) { yaml in
                if let plan = rollout.plan {
                    write(plan, to: &yaml)
                } else {
                    yaml.entry("share", "\(rollout.percent)%")
                }
                attestForm.write(rollout, to: &yaml)
            }
        }
    }

    private static var attestForm: Form<AttestRollout> {
        Form(AttestRollout()) {
            Setting(
                "retry_after", \.retryAfter,
                .duration(
                    .seconds(1), .seconds(7 * 24 * 3600),
                    "an app that is told to wait longer is used without having asked"),
                "Retry-After of the others, spread over twice as long.")
        }
    }

    private static func attestRollout(_ field: Field) -> AttestRollout? {
        var rollout = AttestRollout()
        guard field.isMapping else {
            guard let fixed = field.percent() else { return nil }
            rollout.percent = fixed
            return rollout
        }
        return field.section { section in
            attestForm.read(&section, into: &rollout)
            if let share = section.field("share") {
                if let fixed = share.percent() { rollout.percent = fixed }
                for entry in entries(startIsRequired: false) {
                    section.refuse(entry.key, "has no use beside share, which stays as it is")
                }
                return rollout
            }
            let plan = plan(&section)
            rollout.plan = plan
            rollout.percent = plan.start
            return rollout
        }
    }

    // MARK: a plan

    /// The keys of a plan, in the order in which they are printed.
    private static func entries(startIsRequired: Bool) -> [Entry] {
        [
            Entry("start", start.shape, required: startIsRequired, "Where the share begins."),
            Entry("until", until.shape, standard: "100%", "Where the schedule ends."),
        ] + schedule.entries + [
            Entry(
                "guard", `guard`.shape,
                "What holds the share when more is refused. Left out: nothing.")
        ]
    }

    private static var start: Kind<Int> { .share(1...100, "a rollout begins with some") }
    private static var until: Kind<Int> { .share(1...100, "a rollout ends with some") }

    private static func plan(_ section: inout Section) -> RolloutPlan {
        var plan = RolloutPlan(start: 1)
        if let start = section.required("start").flatMap(start.read) { plan.start = start }
        let untilField = section.field("until")
        if let until = untilField.flatMap(until.read) {
            plan.until = until
            if until < plan.start { untilField?.error("is less than start") }
        }
        plan.schedule = schedule(&section)
        plan.guard = section.field("guard").flatMap(Kind.section(`guard`).read)
        return plan
    }

    private static func write(_ plan: RolloutPlan, to yaml: inout YAMLText) {
        yaml.entry("start", "\(plan.start)%")
        yaml.entry("until", "\(plan.until)%")
        if let schedule = plan.schedule { self.schedule.write(schedule, to: &yaml) }
        if let bounds = plan.guard { Kind.section(`guard`).write("guard", bounds, &yaml) }
    }

    private static var schedule: Form<RolloutPlan.Schedule> {
        Form(RolloutPlan.Schedule()) {
            Setting(
                "step", \.step,
                Kind(
                    .text("step: x2 to x100, or +1% to +100%", pattern: "^(x[0-9]+|[+][0-9]+%)$"),
                    read: step
                ) { $2.entry($0, text: $1.text) },
                "How far the share moves at a time. Without step and every it does not move.")
            Setting(
                "every", \.every,
                .duration(
                    .seconds(60), .seconds(31 * 24 * 3600),
                    "what a step does wrong takes time to show"),
                "How long a step lasts.")
            Setting(
                "while_success", \.successMin, .share(1...100, "less is no condition"),
                "The share of the rollout's requests since the last step that must succeed.")
            Setting(
                "min_requests", \.requestCountMin,
                .count(1...1_000_000_000, "without any nothing is known"),
                "Fewer prove nothing.")
        }
    }

    /// Where anything of it is there.
    private static func schedule(_ section: inout Section) -> RolloutPlan.Schedule? {
        var schedule = RolloutPlan.Schedule()
        self.schedule.read(&section, into: &schedule)
        if section.field("step") != nil || section.field("every") != nil { return schedule }
        for key in ["while_success", "min_requests"] {
            guard let field = section.field(key) else { continue }
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

    private static var `guard`: Form<RolloutPlan.Guard> {
        Form(RolloutPlan.Guard()) {
            Setting(
                "refused_max", \.refusedMax, .share(0...99, "with all of them nothing is guarded"),
                "More refused than this share calls for the action.")
            Setting(
                "window", \.window,
                .duration(
                    .seconds(60), .seconds(7 * 24 * 3600),
                    "gateways bring together what they count every few seconds"),
                "Over how long it is counted.")
            Setting(
                "min_requests", \.requestCountMin,
                .count(1...1_000_000_000, "without any nothing is known"),
                "Fewer prove nothing.")
            Setting(
                "action", \.action, .word,
                "hold: the share stays until `rollout resume`. step_back: it also goes back by a "
                    + "step, again and again.")
        }
    }
}
