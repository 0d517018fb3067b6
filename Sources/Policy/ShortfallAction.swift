/// The action for a request that falls short of what its route demands.
public enum ShortfallAction: String, Sendable, CaseIterable {
    case deny
    /// Forwarded while a rate limit has room for it: ``ShortfallLimits``.
    case limit
    case pass
}

/// The rate limits, by name, that `limit` stands for at each shortfall; nil elsewhere.
public struct ShortfallLimits: Hashable, Sendable {
    public var missing: String?
    public var invalid: String?
    public var storeFailure: String?
    public var lowerTier: String?
    public var risk: String?

    public init() {}
}
