import Telemetry

/// A way of counting.
protocol Tally: Sendable {
    init()
    /// True if the count may have grown.
    mutating func add(_ hash: UInt64) -> Bool
    /// The count of this half and the one before together.
    func count(with previous: Self) -> Int
    /// Merges the counts of other gateways.
    mutating func merge(_ other: Self)
    /// The state with which the next half begins.
    func following() -> Self
}

extension Tally {
    func following() -> Self { Self() }
}

/// The result of one addition.
struct TallyChange: Sendable {
    let before: Int
    let after: Int
    /// The number of the half of the window in which it was counted: the same on every gateway.
    let half: UInt64
    /// True if other gateways should be told.
    let isShared: Bool
}

/// A tally that counts every event.
struct EventTally: Tally {
    private(set) var number = 0

    init() {}

    /// `number`: taken as 0 to ``numberMax``, whatever a damaged store says.
    init(number: Int) { self.number = min(max(0, number), Self.numberMax) }

    private static let numberMax = Int(UInt32.max)

    mutating func add(_ hash: UInt64) -> Bool {
        number += 1
        return true
    }

    func count(with previous: EventTally) -> Int { number + previous.number }

    /// Merges the count of other gateways, which already includes what they were told from here.
    mutating func merge(_ other: EventTally) { number = max(number, other.number) }
}

extension DistinctSketch: Tally {
    func count(with previous: DistinctSketch) -> Int { union(previous).count }

    mutating func merge(_ other: DistinctSketch) { self = union(other) }
}

/// The counts of the last window: of its current half, and of the one before. So everything of the
/// last half window is counted, older events up to a whole window may be, and older ones are not.
struct WindowTally<Kind: Tally>: Remembered {
    /// The interval at which other gateways are asked again for their counts.
    static var sharingNanoseconds: UInt64 { 10 * 1_000_000_000 }
    /// This interval for the counts of a key: there are many keys, each with few events of its own.
    static var keySharingNanoseconds: UInt64 { 60 * 1_000_000_000 }

    private let halfNanoseconds: UInt64
    private(set) var half: UInt64
    private var sharedAt: UInt64 = 0
    private var current = Kind()
    private var previous = Kind()
    /// The last count. It is kept because counting takes longer than everything else.
    private var count = 0

    init(windowNanoseconds: UInt64, now: UInt64) {
        halfNanoseconds = max(1, windowNanoseconds / 2)
        half = Self.half(at: now, windowNanoseconds: windowNanoseconds)
    }

    /// The number of the half that `now` falls into.
    static func half(at now: UInt64, windowNanoseconds: UInt64) -> UInt64 {
        now / max(1, windowNanoseconds / 2)
    }

    /// Adds an event. Returns the count before and after.
    mutating func add(
        _ hash: UInt64 = 0, now: UInt64, sharedEvery interval: UInt64 = sharingNanoseconds
    ) -> TallyChange {
        let before = count(now: now)
        let isNew = current.add(hash)
        if isNew { count = current.count(with: previous) }
        return TallyChange(
            before: before, after: count, half: half,
            isShared: shouldShare(isNew: isNew, now: now, every: interval))
    }

    /// Reads the count. Other gateways may know more.
    mutating func look(now: UInt64) -> TallyChange {
        let count = count(now: now)
        return TallyChange(
            before: count, after: count, half: half,
            isShared: shouldShare(isNew: false, now: now, every: Self.sharingNanoseconds))
    }

    mutating func count(now: UInt64) -> Int {
        let half = now / halfNanoseconds
        if half > self.half {
            previous = half == self.half + 1 ? current : Kind()
            current = previous.following()
            self.half = half
            count = current.count(with: previous)
        }
        return count
    }

    /// True if other gateways should be told and asked: if they do not know the event yet, and now
    /// and then.
    private mutating func shouldShare(isNew: Bool, now: UInt64, every interval: UInt64) -> Bool {
        guard isNew || now > sharedAt + interval else { return false }
        sharedAt = now
        return true
    }

    /// Merges the counts of all gateways, in the half with that number and in the one before.
    /// Returns the count before and after.
    mutating func merge(
        _ current: Kind, _ previous: Kind, half: UInt64, now: UInt64
    ) -> (before: Int, after: Int) {
        let before = count(now: now)
        guard half == self.half else { return (before, before) }
        self.current.merge(current)
        self.previous.merge(previous)
        count = self.current.count(with: self.previous)
        return (before, count)
    }

    func worth(at now: UInt64) -> UInt64 {
        now / halfNanoseconds > half + 1 ? 0 : UInt64(count) + 1
    }
}
