/// A budget for frames of one kind: `countMax` at once, and as many again in ten seconds.
///
/// It uses the generic cell rate algorithm: one number says when the budget will be whole again.
struct FrameBudget {
    private let interval: UInt64
    private var wholeAt: UInt64 = 0
    /// The frames that are allowed beyond the budget.
    private var creditCount: UInt64 = 0

    init(countMax: Int) { interval = Self.periodNanoseconds / UInt64(max(1, countMax)) }

    /// Spends one frame. False if the budget is used up. `now`: nanoseconds of a clock that never
    /// goes back.
    mutating func spend(now: UInt64) -> Bool {
        if creditCount > 0 {
            creditCount -= 1
            return true
        }
        let next = max(wholeAt, now) + interval
        guard next <= now + Self.periodNanoseconds else { return false }
        wholeAt = next
        return true
    }

    /// Allows `count` frames more, whenever they come: what delays them may let many come at once.
    mutating func credit(_ count: UInt64) { creditCount += count }

    private static let periodNanoseconds: UInt64 = 10_000_000_000
}
