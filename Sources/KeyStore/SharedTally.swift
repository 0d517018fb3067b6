public import Bytes

/// A count that several gateways keep together in the counter store, for the half of a window with
/// the number `half`. It may be lost with the store: it is a signal, not a promise.
public struct SharedTally: Hashable, Sendable {
    /// The change to make before the counts are read.
    public enum Change: Hashable, Sendable {
        /// Counts one more event.
        case event
        /// Changes nothing; only reads events.
        case look
        /// Counts a thing with this hash, once however often it comes.
        case distinct(UInt64)
        /// Notes that a counter of a key was accepted.
        case counter(UInt32)
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
    /// The bytes of sketches: up to 31 hashes of eight bytes each, or 256 registers.
    case sketches(current: [UInt8], previous: [UInt8])
    /// The spans of a key's counters; nil if none was accepted.
    case counters(current: CounterSpan?, previous: CounterSpan?)
}

/// The counters of a key that were seen in half a window.
public struct CounterSpan: Hashable, Sendable {
    /// The last counter before the half, or the one before the first that was seen at all.
    public let base: UInt32
    public let highest: UInt32
    /// The number of accepted counters.
    public let seenCount: UInt32

    /// Nil for values that no half window can have.
    public init?(base: UInt32, highest: UInt32, seenCount: UInt32) {
        guard highest > 0, base <= highest, seenCount > 0 else { return nil }
        self.base = base
        self.highest = highest
        self.seenCount = seenCount
    }
}
