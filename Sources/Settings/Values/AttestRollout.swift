public import Policy

/// Who is given a challenge to attest with: Apple throttles the attestations of an app over all its
/// installations, so a large fleet must not begin at once.
public struct AttestRollout: Hashable, Sendable {
    /// The share of installations, 0 to 100; with a plan where it begins.
    public var percent = 100
    /// Nil: the share is what the configuration says.
    public var plan: RolloutPlan?
    /// When the others are to ask again, at the earliest; it is spread over twice as long.
    public var retryAfter: Duration = .seconds(3600)

    public init() {}
}

extension EndpointSettings {
    /// The key in the configuration, and the name of its rollout.
    public static let attestRolloutName = "attest_rollout"
}
