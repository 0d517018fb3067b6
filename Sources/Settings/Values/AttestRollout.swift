public import Policy

/// The share of installations that is given a challenge to attest with. Apple throttles the
/// attestations of an app over all its installations, so a large fleet must not begin at once.
public struct AttestRollout: Hashable, Sendable {
    /// The share of installations, 0 to 100. With a plan, it is the first share.
    public var percent = 100
    /// The plan by which the share moves, or nil if the configuration sets the share.
    public var plan: RolloutPlan?
    /// The shortest time before the other installations ask again. Their times are spread up to
    /// twice as long.
    public var retryAfter: Duration = .seconds(3600)
}

extension EndpointSettings {
    /// The key in the configuration, which is also the name of the rollout.
    public static let attestRolloutName = "attest_rollout"
}
