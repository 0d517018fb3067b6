/// The rule for requests whose key has a risk metric above a threshold.
///
/// The metric is Apple's estimate of how many keys of the app the device has had in 30 days: a
/// signal, not a verdict. A key without a metric is not above.
public struct RiskRule: Hashable, Sendable {
    public enum Action: String, Sendable, CaseIterable {
        /// The request is counted, and the upstream sees the metric as usual.
        case observe
        /// The request is forwarded while a rate limit has room for it: ``ShortfallLimits``.
        case limit
        /// The proof is worth no more than ``RiskRule/tier``.
        case lower
        case deny
    }

    /// The highest metric that is not above.
    public var max: UInt32
    public var action: Action
    /// The highest tier of a proof by such a key, with ``Action/lower``. It is never `none`, which
    /// means that nothing was proved.
    public var tier = TrustTier.token

    public init(max: UInt32, _ action: Action = .observe) {
        self.max = max
        self.action = action
    }

    public func isAbove(_ metric: UInt32?) -> Bool { metric.map { $0 > max } ?? false }
}
