public import Bytes

/// What a challenge may be used for.
public enum ChallengePurpose: UInt8, Sendable {
    case attestation = 1
    case assertion = 2
}

/// A challenge that one of our own keys sealed. Authentic, but its age and incarnation are not
/// checked yet.
public struct Challenge: Hashable, Sendable {
    public let purpose: ChallengePurpose
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let issuedAt: Int64
    public let incarnation: Incarnation
    /// Random: what the stores remember of a spent challenge.
    public let id: Bytes16
    /// The only key that may use it; nil where any key may.
    public let keyID: KeyID?

    public init(
        purpose: ChallengePurpose, issuedAt: Int64, incarnation: Incarnation, id: Bytes16,
        keyID: KeyID?
    ) {
        self.purpose = purpose
        self.issuedAt = issuedAt
        self.incarnation = incarnation
        self.id = id
        self.keyID = keyID
    }

    /// Milliseconds of life left at `now`; nil when expired or issued in the future.
    public func remainingMilliseconds(at now: Int64, timeToLive: Int64) -> Int? {
        let (difference, overflow) = now.subtractingReportingOverflow(issuedAt)
        // Gateways that share a key have clocks a little apart.
        guard !overflow, difference >= -Self.clockSkewMilliseconds else { return nil }
        let age = max(difference, 0)
        return age < timeToLive ? Int(timeToLive - age) : nil
    }

    public static let clockSkewMilliseconds: Int64 = 5_000
}
