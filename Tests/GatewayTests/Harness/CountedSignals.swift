import Policy
import Settings

extension SignalSettings.Rule {
    /// A rule that counts over an hour. One that limits takes from ``RateLimitSettings/suspects``.
    static func atMost(_ countMax: Int, _ action: SignalSettings.Action = .observe) -> Self {
        var rule = SignalSettings.Rule(countMax: countMax, window: .seconds(3600))
        rule.action = action
        if action == .limit { rule.rateLimit = RateLimitSettings.suspects.name }
        return rule
    }
}

extension RateLimitSettings {
    /// One request of each key in an hour.
    static let suspects = RateLimitSettings(
        name: "suspects", subject: .key, rate: .init(count: 1, period: .hour), burst: 1)
}
