import KeyStore

/// Counts the signatures of one key that did not come here: how far its counter went on, less how
/// many counters were accepted. Late ones count when they come, so that their order does not
/// matter.
struct CounterTally: Tally {
    /// The counter before those of this half.
    private var base: UInt32 = 0
    /// 0 if nothing is known of the key yet.
    private var highest: UInt32 = 0
    private var seenCount: UInt32 = 0

    init() {}

    init(_ span: CounterSpan?) {
        guard let span else { return }
        base = span.base
        highest = span.highest
        seenCount = span.seenCount
    }

    mutating func add(_ hash: UInt64) -> Bool {
        let counter = UInt32(truncatingIfNeeded: hash)
        guard counter > 0 else { return false }
        // Counters before the first one that is seen are not counted.
        if highest == 0 { base = counter - 1 }
        highest = max(highest, counter)
        seenCount += 1
        return true
    }

    func count(with previous: CounterTally) -> Int {
        max(0, missingCount + previous.missingCount)
    }

    /// Below 0 where counters of an earlier half came late.
    private var missingCount: Int { Int(highest) - Int(base) - Int(seenCount) }

    /// Takes what all gateways together have seen, unless it is older than what is known.
    mutating func merge(_ other: CounterTally) {
        if other.seenCount >= seenCount { self = other }
    }

    /// A half goes on where the one before it ended. After one in which nothing was accepted it
    /// begins anew: otherwise a key whose requests were refused for a window would be refused for
    /// what it signed meanwhile.
    func following() -> CounterTally {
        var next = CounterTally()
        guard seenCount > 0 else { return next }
        next.base = highest
        next.highest = highest
        return next
    }
}
