/// Now, as a counter store has it: challenges are sealed and judged by its clock, not by that of
/// the gateway, so that what is spent there is forgotten by the same clock by which it ends.
public struct StoreMoment: Hashable, Sendable {
    /// Under which a challenge must be sealed to be accepted.
    public let incarnation: Incarnation
    /// Goes back by no more than seconds while the incarnation is the same: Redis' clock may be
    /// corrected.
    public let milliseconds: Int64

    public init(incarnation: Incarnation, milliseconds: Int64) {
        self.incarnation = incarnation
        self.milliseconds = milliseconds
    }
}
