/// A token of another issuer that a route accepts.
public struct ForeignProof: Hashable, Sendable {
    /// The index of the issuer among those of the configuration.
    public let index: Int
    /// The operator's name for the issuer.
    public let name: String
    /// The tier of such a token.
    public let tier: TrustTier

    public init(index: Int, name: String, tier: TrustTier) {
        self.index = index
        self.name = name
        self.tier = tier
    }
}
