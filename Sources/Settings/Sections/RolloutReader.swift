import Policy

/// A share, and the plan by which it moves; nil if it does not.
struct RolloutShare {
    var percent: Int
    var plan: RolloutPlan?
}

/// Declares `attest.rollout` of a route and `endpoints.attest_rollout`: a share, or a mapping that
/// tells how it moves by itself.
enum RolloutReader {
    static var kind: Kind<RolloutShare> {
        let form = Form(start) { plan(\.self, startIsRequired: true, isPrinted: { _ in true }) }
        let planned = Kind.section(form, check: check).map(
            { RolloutShare(percent: $0.start, plan: $0) }, from: { $0.plan })
        return Kind<Int>.percent.map(
            { RolloutShare(percent: $0) }, from: { $0.plan == nil ? $0.percent : nil }
        ).or(planned)
    }

    static var attestRollout: Kind<AttestRollout> {
        var start = AttestRollout()
        start.plan = self.start
        let form = Form(start) {
            Setting(
                "share", \.percent, .percent, standard: "100%", printed: { $0.plan == nil },
                "A share that stays. start and what follows make it move.")
            plan(\.planned, startIsRequired: false, isPrinted: { $0.plan != nil })
            Setting(
                "retry_after", \.retryAfter,
                .duration(
                    .seconds(1), .seconds(7 * 24 * 3600),
                    "an app that is told to wait longer is used without having asked"),
                "The Retry-After of the others, spread over twice as long.")
        }
        let mapping = Kind.section(form) { section, rollout in
            if section.field("share") == nil {
                _ = section.required("start")
                check(&section, &rollout.planned)
                rollout.percent = rollout.planned.start
            } else {
                section.refuse(
                    form.keys.filter { !["share", "retry_after"].contains($0) },
                    "has no use beside share, which stays as it is")
                rollout.plan = nil
            }
        }
        return Kind<Int>.percent.map { AttestRollout(percent: $0) }.or(mapping)
    }

    // MARK: a plan

    /// The plan before its keys are read.
    private static var start: RolloutPlan {
        var plan = RolloutPlan(start: 1)
        plan.schedule = RolloutPlan.Schedule()
        return plan
    }

    /// The keys of a plan.
    @FormBuilder<Root>
    private static func plan<Root>(
        _ path: WritableKeyPath<Root, RolloutPlan>, startIsRequired: Bool,
        isPrinted: @escaping (Root) -> Bool
    ) -> [Setting<Root>] {
        let isScheduled = { (root: Root) in root[keyPath: path].schedule != nil }
        Setting(
            "start", path.appending(path: \.start),
            .share(1...100, "a rollout begins with some"), required: startIsRequired,
            standard: "", printed: isPrinted,
            "The share that the rollout begins with.")
        Setting(
            "until", path.appending(path: \.until),
            .share(1...100, "a rollout ends with some"), printed: isPrinted,
            "The share that the schedule ends at."
        ) { field, root in
            let plan = root[keyPath: path]
            if plan.until < plan.start { field.error("is less than start") }
        }
        Setting(
            "step", path.appending(path: \.scheduled.step),
            Kind(
                .text("x2 to x100, or +1% to +100%", pattern: "^(x[0-9]+|[+][0-9]+%)$"),
                text: \.text, parse: step), printed: isScheduled,
            "How far the share moves at a time.")
        Setting(
            "every", path.appending(path: \.scheduled.every),
            .duration(
                .seconds(60), .seconds(31 * 24 * 3600),
                "what a step does wrong takes time to show"),
            printed: isScheduled, "How long a step lasts.")
        Setting(
            "while_success", path.appending(path: \.scheduled.successMin),
            .share(1...100, "less is no condition"), printed: isScheduled,
            "The share of requests since the last step that must succeed.")
        Setting(
            "min_requests", path.appending(path: \.scheduled.requestCountMin),
            .count(1...1_000_000_000, "without any nothing is known"), printed: isScheduled,
            "The requests that a step needs.")
        Setting(
            "guard", optional: path.appending(path: \.guard), .section(`guard`),
            "Stops the share if too many requests are refused.")
    }

    private static func check(_ section: inout Section, _ plan: inout RolloutPlan) {
        if section.field("step") != nil || section.field("every") != nil { return }
        plan.schedule = nil
        section.refuse(["while_success", "min_requests"], "is used with step or every only")
    }

    /// `x2`, `+5%`.
    private static func step(_ text: String) throws(Fault) -> RolloutPlan.Step {
        if text.first == "x", let factor = Quantity.count(String(text.dropFirst())) {
            if (2...100).contains(factor) { return .factor(factor) }
            throw Fault("is outside x2 to x100: a step makes the share grow")
        }
        if text.first == "+",
            case .amount(let points) = Quantity.parse(
                String(text.dropFirst()), Quantity.percentUnits)
        {
            if (1...100).contains(points) { return .points(points) }
            throw Fault("is outside +1% to +100%: a step makes the share grow")
        }
        throw Fault("is not a step: write one like x2 or +10%")
    }

    private static var `guard`: Form<RolloutPlan.Guard> {
        Form(RolloutPlan.Guard()) {
            Setting(
                "refused_max", \.refusedMax, .share(0...99, "with all of them nothing is guarded"),
                "The share of refused requests above which the guard acts.")
            Setting(
                "window", \.window,
                .duration(
                    .seconds(60), .seconds(7 * 24 * 3600),
                    "gateways bring together what they count every few seconds"),
                "The time that the guard looks back.")
            Setting(
                "min_requests", \.requestCountMin,
                .count(1...1_000_000_000, "without any nothing is known"),
                "The requests that the guard needs.")
            Setting(
                "action", \.action, .word,
                "hold: the share stays until `sallyport rollout resume`. step_back: it also goes "
                    + "back by a step.")
        }
    }
}

extension RolloutPlan {
    fileprivate var scheduled: Schedule {
        get { schedule ?? Schedule() }
        set { schedule = newValue }
    }
}

extension AttestRollout {
    fileprivate var planned: RolloutPlan {
        get { plan ?? RolloutPlan(start: 1) }
        set { plan = newValue }
    }
}
