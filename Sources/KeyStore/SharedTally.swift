public import Bytes

/// Something that several gateways count together in the counter store, for the half of a window
/// that `half` numbers. What is counted may be lost with the store: it is a signal, not a promise.
public struct SharedTally: Hashable, Sendable {
    /// The change to make before the counts are read.
    public enum Change: Hashable, Sendable {
        /// Counts one more event.
        case event
        /// Nothing; events are read.
        case look
        /// A register of a sketch is to be no less than this; 0 to read alone.
        case register(index: UInt8, rank: UInt8)
    }

    /// A pseudonym of the subject and the signal, which cannot be led back to an address.
    public let name: Bytes16
    public let half: Int64
    public let halfMilliseconds: Int64
    public let change: Change

    public init(name: Bytes16, half: Int64, halfMilliseconds: Int64, change: Change) {
        self.name = name
        self.half = half
        self.halfMilliseconds = halfMilliseconds
        self.change = change
    }
}

/// The counts of all gateways, in this half of the window and in the one before.
public enum SharedCounts: Hashable, Sendable {
    case events(current: Int, previous: Int)
    /// The registers of sketches.
    case registers(current: [UInt8], previous: [UInt8])
}
