/// The present time by a counter store's clock. Challenges are sealed and judged by it rather than
/// by the gateway's clock, so that a spent challenge is forgotten by the same clock by which it
/// ends.
public struct StoreMoment: Hashable, Sendable {
    /// The incarnation under which a challenge must be sealed to be accepted.
    public let incarnation: Incarnation
    /// Milliseconds by the store's clock. It goes back by no more than seconds while the
    /// incarnation is the same, because Redis' clock may be corrected.
    public let milliseconds: Int64

    public init(incarnation: Incarnation, milliseconds: Int64) {
        self.incarnation = incarnation
        self.milliseconds = milliseconds
    }
}
