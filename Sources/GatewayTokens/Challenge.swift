public import Attestation
public import Bytes
public import KeyStore

/// The use that a challenge is made for.
public enum ChallengePurpose: UInt8, Sendable {
    case attestation = 1
    case assertion = 2
}

/// A challenge that one of the gateway's keys sealed. It is authentic, but its age and incarnation
/// are not checked yet.
public struct Challenge: Hashable, Sendable {
    public let purpose: ChallengePurpose
    /// The end of the challenge, in milliseconds of the clock that judges it. For an assertion that
    /// is the clock of the counter store that will spend it, for an attestation the gateways' wall
    /// clocks. It is sealed, so that no later configuration prolongs it.
    public let expiresAt: Int64
    public let incarnation: Incarnation
    /// Random bytes, by which the stores remember a spent challenge.
    public let id: Bytes16
    /// The only key that may use it; nil if any key may.
    public let keyID: KeyID?

    public init(
        purpose: ChallengePurpose, expiresAt: Int64, incarnation: Incarnation, id: Bytes16,
        keyID: KeyID?
    ) {
        self.purpose = purpose
        self.expiresAt = expiresAt
        self.incarnation = incarnation
        self.id = id
        self.keyID = keyID
    }

    /// The milliseconds of life left at `now`, by the clock of ``expiresAt``; nil if the challenge
    /// has ended.
    public func remainingMilliseconds(at now: Int64) -> Int64? {
        guard now < expiresAt else { return nil }
        let (remaining, overflow) = expiresAt.subtractingReportingOverflow(now)
        return overflow ? .max : remaining
    }
}
