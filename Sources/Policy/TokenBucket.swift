/// A token bucket, by the generic cell rate algorithm (ITU-T I.371): one number, which needs no
/// refilling.
public struct TokenBucket: Sendable {
    /// The time at which the bucket is full again, in nanoseconds of the monotonic clock; past for
    /// a full one.
    public private(set) var fullAt: UInt64 = 0

    public init() {}

    /// Takes one token and returns nil. If there is none, takes nothing and returns the nanoseconds
    /// until there is one. One token comes back in `interval`, all of them in `depth`.
    public mutating func take(interval: UInt64, depth: UInt64, now: UInt64) -> UInt64? {
        let next = max(fullAt, now) &+ interval
        guard next - now <= depth else { return next - now - depth }
        fullAt = next
        return nil
    }
}
