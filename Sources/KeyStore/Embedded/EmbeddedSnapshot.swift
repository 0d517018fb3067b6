/// The whole state of ``EmbeddedCounters`` after a clean stop. It may be used for one start only:
/// its keeper must take and delete it in one durable step.
///
/// It comes in parts, each made or read when it is asked for, so that a stop and a start need
/// memory for one part beside the counters themselves, however many keys there are.
public struct EmbeddedSnapshot: Sendable {
    public let incarnation: Incarnation
    /// The clock as it stood at the stop.
    public let clock: EmbeddedClock
    /// The number of parts: one for each shard, and the last one for the accepted tokens of other
    /// issuers.
    public let partCount: Int
    private let readPart: @Sendable (Int) throws(StoreError) -> [UInt8]

    /// `part`: makes or reads a part. Throws if it cannot be read, or is damaged.
    public init(
        incarnation: Incarnation, clock: EmbeddedClock, partCount: Int,
        part: @escaping @Sendable (Int) throws(StoreError) -> [UInt8]
    ) {
        self.incarnation = incarnation
        self.clock = clock
        self.partCount = partCount
        readPart = part
    }

    /// The part of this index as bytes. To be called once for each.
    public func part(_ index: Int) throws(StoreError) -> [UInt8] { try readPart(index) }
}
