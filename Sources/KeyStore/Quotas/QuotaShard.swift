import Bytes

/// The counts of a share of the names; only ever touched under its lock.
///
/// Flat arrays with one entry for each count, as in ``CounterShard``. Times are milliseconds: `now`
/// of the monotonic clock, `wall` since 1970.
struct QuotaShard: Sendable {
    /// A period that has counts.
    private struct Period: Sendable {
        var range: Range<Int64>
        /// The monotonic time from which its counts may be forgotten.
        var keptUntil: Int64
        /// The number of its counts. 0 in a place that may be used for another period.
        var countCount = 0
        /// The number that tells the names of this period from those of others.
        var mask: Bytes16
    }

    /// The most periods with counts at a time. Four units need eight, and eight more for each
    /// offset from UTC; a search looks at all of them.
    static let periodCountMax = 1024

    private let countMax: Int
    private let grace: Int64
    private(set) var isClosed = false
    private var periods: [Period] = []
    private var index = PositionIndex<Bytes16>()
    /// The names, each combined with its period's mask.
    private var keys: [Bytes16] = []
    /// The positions in ``periods``.
    private var periodNumbers: [UInt16] = []
    private var taken: [Int] = []
    private var returned: [Int] = []
    /// One bit for each count that has changed since ``takeChanges(countMax:)``.
    private var changes: [UInt64] = []
    private var sweepPosition = 0
    /// The latest time that was passed in. Threads come with times a little apart.
    private var clock = Int64.min

    init(countMax: Int, grace: Int64) {
        self.countMax = countMax
        self.grace = grace
    }

    var countCount: Int { keys.count }

    func holds(_ range: Range<Int64>) -> Bool {
        periods.contains { $0.range == range && $0.countCount > 0 }
    }

    func sums(of count: QuotaCount) -> QuotaSums? { position(of: count).map { sums(at: $0) } }

    /// Nothing is changed any more.
    mutating func close() { isClosed = true }

    // MARK: charges

    mutating func charge(_ charge: QuotaCharge, now: Int64, wall: Int64) -> QuotaVerdict {
        guard !isClosed else { return .unavailable }
        let position = position(of: charge.count)
        let before = position.map { sums(at: $0) } ?? QuotaSums()
        var after = before
        let verdict = after.make(charge.change, limit: charge.limit)
        guard after != before else {
            // What the answer costs could not be counted, so the request must not be forwarded.
            let isUncountable =
                charge.change == .look && position == nil
                && !hasRoom(for: charge.count.period, now: now, wall: wall)
            return isUncountable ? .full : verdict
        }
        guard let entry = position ?? add(charge.count, now: now, wall: wall) else { return .full }
        set(after, at: entry)
        setChanged(entry, true)
        return verdict
    }

    /// Takes in what a file knows of a count, without marking it as changed. False if there is no
    /// room for it.
    mutating func restore(
        _ count: QuotaCount, _ known: QuotaSums, now: Int64, wall: Int64
    ) -> Bool {
        guard let entry = position(of: count) ?? add(count, now: now, wall: wall) else {
            return false
        }
        var merged = sums(at: entry)
        merged.merge(known)
        set(merged, at: entry)
        return true
    }

    private func sums(at entry: Int) -> QuotaSums {
        QuotaSums(taken: taken[entry], returned: returned[entry])
    }

    private mutating func set(_ sums: QuotaSums, at entry: Int) {
        taken[entry] = sums.taken
        returned[entry] = sums.returned
    }

    // MARK: places

    private func position(of count: QuotaCount) -> Int? {
        guard let period = periods.first(where: { $0.range == count.period && $0.countCount > 0 })
        else { return nil }
        return index.position(of: count.name ^ period.mask, in: keys)
    }

    /// True if another count of this period finds room, if need be after a look at some that have
    /// ended.
    private mutating func hasRoom(for range: Range<Int64>, now: Int64, wall: Int64) -> Bool {
        sweep(now: now, wall: wall, stepCount: 4)
        return keys.count < countMax
            && (periods.count < Self.periodCountMax
                || periods.contains { $0.countCount == 0 || $0.range == range })
    }

    /// Makes an entry. Nil if there is no room.
    private mutating func add(_ count: QuotaCount, now: Int64, wall: Int64) -> Int? {
        guard hasRoom(for: count.period, now: now, wall: wall),
            let number = place(for: count.period, now: now, wall: wall)
        else { return nil }
        if keys.count == keys.capacity { makeRoom() }
        periods[number].countCount += 1
        keys.append(count.name ^ periods[number].mask)
        periodNumbers.append(UInt16(number))
        taken.append(0)
        returned.append(0)
        if keys.count > changes.count * UInt64.bitWidth { changes.append(0) }
        index.insert(keys.count - 1, in: keys)
        return keys.count - 1
    }

    /// A quarter more, where an array by itself would double: a million counts are many bytes.
    private mutating func makeRoom() {
        let room = min(countMax, keys.count + keys.count / 4 + 16)
        keys.reserveCapacity(room)
        periodNumbers.reserveCapacity(room)
        taken.reserveCapacity(room)
        returned.reserveCapacity(room)
    }

    /// The position of a period in ``periods``, which it gets now if it has none. Nil if all are
    /// taken.
    private mutating func place(for range: Range<Int64>, now: Int64, wall: Int64) -> Int? {
        if let number = periods.firstIndex(where: { $0.range == range && $0.countCount > 0 }) {
            return number
        }
        // The wall clock may stand outside of the period, if it was set a moment ago.
        let left = min(max(0, range.upperBound - wall), range.upperBound - range.lowerBound)
        let period = Period(
            range: range, keptUntil: now + left + grace, mask: Self.mask(of: range))
        if let free = periods.firstIndex(where: { $0.countCount == 0 }) {
            periods[free] = period
            return free
        }
        guard periods.count < Self.periodCountMax else { return nil }
        periods.append(period)
        return periods.count - 1
    }

    /// The finalizer of SplitMix64, over both ends of the period.
    private static func mask(of range: Range<Int64>) -> Bytes16 {
        func mixed(_ number: Int64) -> UInt64 {
            var word = UInt64(bitPattern: number) &+ 0x9E37_79B9_7F4A_7C15
            word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            return word ^ word >> 31
        }
        return Bytes16(word0: mixed(range.lowerBound), word1: mixed(~range.upperBound))
    }

    // MARK: ended periods

    /// Forgets the counts of ended periods, among the next `stepCount` ones.
    ///
    /// The monotonic clock decides, so that counts outlast a wall clock that leaps ahead and back.
    /// As long as the wall clock stands in a period, that period is kept until its end: the wall
    /// clock may have been ahead when the period was first used.
    mutating func sweep(now: Int64, wall: Int64, stepCount: Int) {
        clock = max(clock, now)
        guard !isClosed, !keys.isEmpty else { return }
        var isAnyOver = false
        for number in periods.indices where periods[number].countCount > 0 {
            if periods[number].range.contains(wall) {
                periods[number].keptUntil = max(
                    periods[number].keptUntil,
                    clock + periods[number].range.upperBound - wall + grace)
            }
            if periods[number].keptUntil <= clock { isAnyOver = true }
        }
        guard isAnyOver else { return }
        for _ in 0..<min(stepCount, keys.count) {
            if sweepPosition >= keys.count { sweepPosition = 0 }
            if periods[Int(periodNumbers[sweepPosition])].keptUntil <= clock {
                forget(sweepPosition)
                if keys.isEmpty { return releaseMemory() }
            } else {
                sweepPosition += 1
            }
        }
    }

    /// Forgets an entry. The last entry moves into the gap, so that the arrays stay dense.
    private mutating func forget(_ entry: Int) {
        index.remove(entry, in: keys)
        let last = keys.count - 1
        if entry != last {
            index.move(last, to: entry, in: keys)
            setChanged(entry, isChanged(last))
        }
        setChanged(last, false)
        periods[Int(periodNumbers[entry])].countCount -= 1
        keys.removeDensely(at: entry)
        periodNumbers.removeDensely(at: entry)
        taken.removeDensely(at: entry)
        returned.removeDensely(at: entry)
    }

    /// A period of many counts may be followed by one of few.
    private mutating func releaseMemory() {
        keys = []
        periodNumbers = []
        taken = []
        returned = []
        changes = []
        index.removeAll()
    }

    // MARK: changes

    private func isChanged(_ entry: Int) -> Bool {
        changes[entry / 64] & 1 << UInt64(entry % 64) != 0
    }

    private mutating func setChanged(_ entry: Int, _ isChanged: Bool) {
        let bit: UInt64 = 1 << UInt64(entry % 64)
        if isChanged { changes[entry / 64] |= bit } else { changes[entry / 64] &= ~bit }
    }

    /// At most so many of the counts that have changed since they were taken last.
    mutating func takeChanges(countMax: Int) -> [(count: QuotaCount, sums: QuotaSums)] {
        var taken: [(count: QuotaCount, sums: QuotaSums)] = []
        for word in changes.indices {
            while changes[word] != 0, taken.count < countMax {
                let entry = word * 64 + changes[word].trailingZeroBitCount
                changes[word] &= changes[word] - 1
                let period = periods[Int(periodNumbers[entry])]
                let count = QuotaCount(name: keys[entry] ^ period.mask, period: period.range)
                taken.append((count, sums(at: entry)))
            }
        }
        return taken
    }

    mutating func markAllChanged() {
        for entry in keys.indices { setChanged(entry, true) }
    }

    /// Marks a count as changed again, unless it was forgotten meanwhile.
    mutating func markChanged(_ count: QuotaCount) {
        if let entry = position(of: count) { setChanged(entry, true) }
    }
}

extension Bytes16 {
    fileprivate static func ^ (left: Bytes16, right: Bytes16) -> Bytes16 {
        Bytes16(word0: left.word0 ^ right.word0, word1: left.word1 ^ right.word1)
    }
}
