/// Below and at what counters of a key are refused.
public struct CounterFloor: Hashable, Sendable {
    /// On any route: what the counter store is told, which never takes such a counter again.
    public let settled: UInt32
    /// On routes without a window. The store is not told: it would refuse requests of a window,
    /// which are late and were never used.
    public let strict: UInt32

    public init(settled: UInt32, strict: UInt32) {
        self.settled = settled
        self.strict = strict
    }
}

/// Who has accepted a counter, and so who refuses it from then on.
public enum AcceptedCounter: Sendable {
    /// The counter store.
    case heard
    /// The registry alone, on a route without challenges.
    case unheard
    /// Long ago: no lower one is taken any more, inside a window or not.
    case settled
}
