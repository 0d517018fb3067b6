import Telemetry

/// How something is counted.
protocol Tally: Sendable {
    init()
    /// True where the count may have grown.
    mutating func add(_ hash: UInt64) -> Bool
    /// What this one and the one before have counted together.
    func count(with previous: Self) -> Int
}

/// Counts every time.
struct EventTally: Tally {
    private var number = 0

    mutating func add(_ hash: UInt64) -> Bool {
        number += 1
        return true
    }

    func count(with previous: EventTally) -> Int { number + previous.number }
}

extension DistinctSketch: Tally {
    func count(with previous: DistinctSketch) -> Int { union(previous).estimate }
}

/// What was counted in the last window: in its current half, and in the one before. So what came
/// between half a window and a whole one ago is counted, what is older is not.
struct WindowTally<Kind: Tally>: Remembered {
    private let halfNanoseconds: UInt64
    private var half: UInt64
    private var current = Kind()
    private var previous = Kind()
    /// Kept: an estimate takes longer than all else.
    private var count = 0

    init(windowNanoseconds: UInt64, now: UInt64) {
        halfNanoseconds = max(1, windowNanoseconds / 2)
        half = now / halfNanoseconds
    }

    /// The count before and after.
    mutating func add(_ hash: UInt64 = 0, now: UInt64) -> (before: Int, after: Int) {
        let before = count(now: now)
        if current.add(hash) { count = current.count(with: previous) }
        return (before, count)
    }

    mutating func count(now: UInt64) -> Int {
        let half = now / halfNanoseconds
        if half > self.half {
            previous = half == self.half + 1 ? current : Kind()
            current = Kind()
            self.half = half
            count = current.count(with: previous)
        }
        return count
    }

    func worth(at now: UInt64) -> UInt64 {
        now / halfNanoseconds > half + 1 ? 0 : UInt64(count)
    }
}
