/// A token of another issuer that a route accepts.
public struct ForeignProof: Hashable, Sendable {
    /// The issuer's place among those of the configuration.
    public let index: Int
    /// The operator's name for it.
    public let name: String
    /// What such a token is worth.
    public let tier: TrustTier

    public init(index: Int, name: String, tier: TrustTier) {
        self.index = index
        self.name = name
        self.tier = tier
    }
}
