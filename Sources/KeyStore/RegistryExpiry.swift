/// The bounds of age at which a registry forgets what is of no use any more.
public struct RegistryExpiry: Sendable {
    /// Users for whom a key was last used before this, in milliseconds since 1970; nil for none.
    public let usersBefore: Int64?

    public init(usersBefore: Int64?) { self.usersBefore = usersBefore }

    /// The time since which a challenge must have been spent, in milliseconds by the registry's
    /// clock: a week. No attestation challenge is valid for more than three days
    /// (`challenge.attestation_ttl`); the rest is for clocks that differ.
    public static let challengeAge: Int64 = 7 * 86_400_000
    /// The most rows of a table that are deleted at once, so that other requests do not wait long.
    public static let rowCountMax = 10_000
}
