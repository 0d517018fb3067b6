/// The whole state of ``EmbeddedCounters`` after a clean stop. It may be used for one start only:
/// whoever stores it takes and deletes it in one durable step.
public struct EmbeddedSnapshot: Hashable, Sendable {
    public let incarnation: Incarnation
    /// The clock as it stood at the stop.
    public let clock: EmbeddedClock
    /// The state as runs of bytes, one for each shard, and one for the accepted tokens of others.
    public let parts: [[UInt8]]

    public init(incarnation: Incarnation, clock: EmbeddedClock, parts: [[UInt8]]) {
        self.incarnation = incarnation
        self.clock = clock
        self.parts = parts
    }
}
