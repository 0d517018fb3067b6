import Judgement
import Policy

/// The rate limits of requests that fall short of what their route demands, if it lets some of them
/// pass. Most routes have none.
final class ShortfallRates: Sendable {
    private let missing: RateLimit?
    private let invalid: RateLimit?
    private let storeFailure: RateLimit?
    private let lowerTier: RateLimit?
    /// The limit of requests by keys at risk.
    let risk: RateLimit?

    init?(_ limits: ShortfallLimits, _ rateLimits: [String: RateLimit]) {
        guard limits != ShortfallLimits() else { return nil }
        missing = limits.missing.flatMap { rateLimits[$0] }
        invalid = limits.invalid.flatMap { rateLimits[$0] }
        storeFailure = limits.storeFailure.flatMap { rateLimits[$0] }
        lowerTier = limits.lowerTier.flatMap { rateLimits[$0] }
        risk = limits.risk.flatMap { rateLimits[$0] }
    }

    /// The limit of requests that fall short in this way.
    func limit(for shortfall: Shortfall) -> RateLimit? {
        switch shortfall {
        case .missing: missing
        case .invalid: invalid
        case .unjudged: storeFailure
        case .lowerTier: lowerTier
        }
    }
}
