/// The history of counters that have names: routes, versions of apps, upstreams.
struct HistoryTable<Name: Hashable & Sendable>: Sendable {
    let columnCount: Int
    let countMax: Int
    private var rings: [Name: HistoryRing] = [:]
    /// The last value of each counter, as many as the meters have. It is kept without a ring, too,
    /// so that a counter that comes back after a day does not count from 0.
    private var totals: [Name: [UInt64]] = [:]
    /// The names that found no room.
    private(set) var leftOut: Set<Name> = []

    init(columnCount: Int, countMax: Int) {
        (self.columnCount, self.countMax) = (columnCount, countMax)
    }

    var names: some Collection<Name> { rings.keys }

    /// The most bytes that the rings hold.
    var byteCountMax: Int { countMax * HistoryRing.byteCount(columnCount: columnCount) }
    var byteCount: Int { rings.count * HistoryRing.byteCount(columnCount: columnCount) }

    /// Takes the values of the counters: the increase since the last call goes into the slots of
    /// `minute`.
    mutating func take(_ name: Name, _ counters: [UInt64], at minute: Int) {
        precondition(counters.count == columnCount)
        let old = totals[name]
        guard old != counters else { return }
        totals[name] = counters
        guard hasRing(name) else { return }
        for (column, value) in counters.enumerated() {
            let before = old?[column] ?? 0
            // A summary may fall when one of its names is counted by itself again.
            if value > before {
                rings[name]?.add(value - before, column: column, at: minute)
            }
        }
    }

    /// True if the name has a ring. If there is no room, forgets names that were silent for a day.
    private mutating func hasRing(_ name: Name) -> Bool {
        if rings[name] != nil { return true }
        if rings.count >= countMax {
            guard let silent = rings.first(where: { $0.value.isEmpty })?.key else {
                if leftOut.count < countMax { leftOut.insert(name) }
                return false
            }
            rings[silent] = nil
        }
        leftOut.remove(name)
        rings[name] = HistoryRing(columnCount: columnCount)
        return true
    }

    /// Forgets names that are not counted any more, which makes room for new ones. A name that
    /// comes back begins at 0.
    mutating func keep(_ names: Set<Name>) {
        guard totals.contains(where: { !names.contains($0.key) }) else { return }
        rings = rings.filter { names.contains($0.key) }
        totals = totals.filter { names.contains($0.key) }
        leftOut.formIntersection(names)
    }

    mutating func advance(from old: Int, to minute: Int) {
        for name in rings.keys { rings[name]?.advance(from: old, to: minute) }
    }

    /// The counts of the slots up to that of `minute`, the oldest first, each by column.
    func slots(_ name: Name, _ range: HistoryRange, at minute: Int) -> [ArraySlice<UInt32>] {
        guard let ring = rings[name] else { return [] }
        let last = minute / range.minutesPerSlot
        return (last - range.slotCount(at: minute) + 1...last).map { ring.slot($0, range) }
    }

    /// The sums of the last hour, or day, by column.
    func sums(_ name: Name, _ range: HistoryRange, at minute: Int) -> [UInt64] {
        slots(name, range, at: minute).reduce(
            into: Array(repeating: 0, count: columnCount)
        ) { sums, slot in
            for (column, value) in slot.enumerated() { sums[column] &+= UInt64(value) }
        }
    }
}
