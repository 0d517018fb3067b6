/// The action for a request that falls short of what its route demands.
public enum ShortfallAction: String, Sendable, CaseIterable {
    case deny
    /// The request is forwarded while a rate limit has room for it: ``ShortfallLimits``.
    case limit
    case pass
}

/// The names of the rate limits that `limit` stands for at each shortfall; nil for other actions.
public struct ShortfallLimits: Hashable, Sendable {
    public var missing: String?
    public var invalid: String?
    public var storeFailure: String?
    public var lowerTier: String?
    public var risk: String?

    public init() {}
}
