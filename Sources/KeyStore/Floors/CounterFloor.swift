/// The counters at or below which a key is refused.
public struct CounterFloor: Hashable, Sendable {
    /// The floor on every route. The counter store is told, and never accepts such a counter again.
    public let settled: UInt32
    /// The floor on routes without a window. The store is not told, because it would refuse
    /// requests of a window that come late and were never used.
    public let strict: UInt32

    public init(settled: UInt32, strict: UInt32) {
        self.settled = settled
        self.strict = strict
    }
}

/// The store that has accepted a counter, and so refuses it from then on.
public enum AcceptedCounter: Sendable {
    /// The counter store.
    case heard
    /// The registry alone accepted it, on a route without challenges.
    case unheard
    /// It was accepted long ago: no lower counter is accepted any more, inside a window or not.
    case settled
}
