/// Counts by names that strangers may choose, in bounded memory. The number of new names is bounded
/// too, because each that is shown stays in a metrics database.
///
/// While there is room, a name is counted as itself from its first report on. When there is none,
/// it is counted under its summary, until it was reported more often lately than the weakest of
/// those that have a place. One gives way in a minute, so that a client that invents names neither
/// hides what a fleet reports nor fills a database.
struct FailureTally<Name: Hashable & Sendable>: Sendable {
    private struct Entry {
        var total: UInt64 = 0
        /// The recent count, in which half of the minute before counts.
        var recent: UInt32 = 0
    }

    private var named: [Name: Entry] = [:]
    private var waiting: [Name: UInt32] = [:]
    /// The totals of summaries, which are few.
    private var summaries: [Name: UInt64] = [:]
    private var minute = 0
    private let namedCountMax: Int

    init(namedCountMax: Int) { self.namedCountMax = namedCountMax }

    /// The totals by name.
    var counts: [Name: UInt64] { named.mapValues(\.total).merging(summaries) { $0 &+ $1 } }

    mutating func count(_ name: Name, orAs summary: Name, at minute: Int) {
        if minute > self.minute { pass(minute - self.minute) }
        self.minute = max(minute, self.minute)
        if name == summary {
            summaries[summary, default: 0] += 1
        } else if named[name] != nil || named.count < namedCountMax {
            named[name, default: Entry()].total += 1
            named[name, default: Entry()].recent &+= 1
        } else {
            summaries[summary, default: 0] += 1
            wait(name)
        }
    }

    private mutating func wait(_ name: Name) {
        if waiting[name] == nil, waiting.count >= namedCountMax,
            let weakest = waiting.min(by: { $0.value < $1.value })?.key
        {
            waiting[weakest] = nil
        }
        waiting[name, default: 0] &+= 1
    }

    private mutating func pass(_ minutes: Int) {
        replaceWeakest()
        let shift = min(minutes, 31)
        for name in named.keys { named[name]?.recent >>= shift }
        waiting = waiting.compactMapValues { $0 >> shift == 0 ? nil : $0 >> shift }
    }

    /// Gives the place of the weakest name to the strongest that waits, if that is much stronger.
    private mutating func replaceWeakest() {
        guard let strongest = waiting.max(by: { $0.value < $1.value }),
            let weakest = named.min(by: { $0.value.recent < $1.value.recent }),
            UInt64(strongest.value) > 2 * UInt64(weakest.value.recent) + Self.advantage
        else { return }
        named[weakest.key] = nil
        // Its earlier counts stay in its summary, where scrapes have seen them.
        named[strongest.key] = Entry(recent: strongest.value)
        waiting[strongest.key] = nil
    }

    /// The reports by which a name must exceed twice the weakest: more than a rare name has.
    private static var advantage: UInt64 { 8 }
}
