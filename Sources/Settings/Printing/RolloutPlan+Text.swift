public import Policy

extension RolloutPlan {
    /// The plan in one line, for people.
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
    /// The step as the configuration writes it.
    public var text: String {
        switch self {
        case .factor(let factor): "x\(factor)"
        case .points(let points): "+\(points)%"
        }
    }
}
