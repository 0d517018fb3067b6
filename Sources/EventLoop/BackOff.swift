/// The wait before each new attempt to connect: twice as long as the time before, up to a limit,
/// and at random between half and all of that, so that a thousand clients do not come back at the
/// same moment.
public struct BackOff: Hashable, Sendable {
    public var shortest: Duration = .milliseconds(50)
    public var longest: Duration = .seconds(2)

    public init() {}

    /// The wait after `failureCount` failed attempts in a row, counted from 1. `jitter` is 0...1.
    public func delay(failureCount: Int, jitter: Double) -> Duration {
        // 2^20 times any shortest wait is longer than any longest one.
        let doublings = min(max(failureCount, 1) - 1, 20)
        let whole = min(shortest * (1 << doublings), longest)
        return whole / 2 + whole / 2 * min(max(jitter, 0), 1)
    }
}
