/// How long to wait before each new attempt to connect: twice as long as the time before, up to a
/// limit, and between half and all of that at random, so that a thousand clients do not come back
/// at the same moment.
public struct BackOff: Hashable, Sendable {
    public var shortest: Duration = .milliseconds(50)
    public var longest: Duration = .seconds(2)

    public init() {}

    /// `jitter` is 0...1; `failureCount` counts the attempts that failed in a row, from 1.
    public func delay(failureCount: Int, jitter: Double) -> Duration {
        // 2^20 times any shortest wait is beyond any longest one.
        let doublings = min(max(failureCount, 1) - 1, 20)
        let whole = min(shortest * (1 << doublings), longest)
        return whole / 2 + whole / 2 * min(max(jitter, 0), 1)
    }
}
