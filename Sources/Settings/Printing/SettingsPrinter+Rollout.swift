public import Policy

extension SettingsPrinter {
    static func write(
        _ key: String, _ percent: Int, _ plan: RolloutPlan?, to yaml: inout YAMLText
    ) {
        guard let plan else { return yaml.entry(key, "\(percent)%") }
        yaml.mapping(key) { write(plan, to: &$0) }
    }

    static func write(_ rollout: AttestRollout, to yaml: inout YAMLText) {
        yaml.mapping(EndpointSettings.attestRolloutName) { yaml in
            if let plan = rollout.plan {
                write(plan, to: &yaml)
            } else {
                yaml.entry("share", "\(rollout.percent)%")
            }
            yaml.entry("retry_after", Quantity.describe(rollout.retryAfter))
        }
    }

    private static func write(_ plan: RolloutPlan, to yaml: inout YAMLText) {
        yaml.entry("start", "\(plan.start)%")
        yaml.entry("until", "\(plan.until)%")
        if let schedule = plan.schedule {
            yaml.entry("step", text: schedule.step.text)
            yaml.entry("every", Quantity.describe(schedule.every))
            yaml.entry("while_success", "\(schedule.successMin)%")
            yaml.entry("min_requests", "\(schedule.requestCountMin)")
        }
        guard let bounds = plan.guard else { return }
        yaml.mapping("guard") { yaml in
            yaml.entry("refused_max", "\(bounds.refusedMax)%")
            yaml.entry("window", Quantity.describe(bounds.window))
            yaml.entry("min_requests", "\(bounds.requestCountMin)")
            yaml.entry("action", bounds.action.rawValue)
        }
    }
}

extension RolloutPlan {
    /// In one line, for people.
    public var summary: String {
        var parts = ["from \(start)%"]
        if until < 100 { parts.append("at most \(until)%") }
        if let schedule {
            parts.append(
                "\(schedule.step.text) every \(Quantity.describe(schedule.every)) while"
                    + " \(schedule.successMin)% of at least \(schedule.requestCountMin) succeed")
        }
        if let bounds = self.guard {
            parts.append(
                "\(bounds.action.rawValue) above \(bounds.refusedMax)% refused of at least"
                    + " \(bounds.requestCountMin) in \(Quantity.describe(bounds.window))")
        }
        return parts.joined(separator: ", ")
    }
}

extension RolloutPlan.Step {
    /// As the configuration writes it.
    public var text: String {
        switch self {
        case .factor(let factor): "x\(factor)"
        case .points(let points): "+\(points)%"
        }
    }
}
