import KeyStore

/// Counts the signatures of one key that did not come to this gateway: the advance of its counter,
/// less the number of accepted counters. Late counters count when they come, so that their order
/// does not matter.
struct CounterTally: Tally {
    /// The counter before those of this half.
    private var base: UInt32 = 0
    /// The highest counter; 0 if nothing is known of the key yet.
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
        // A damaged store may have said any number.
        if seenCount < .max { seenCount += 1 }
        return true
    }

    func count(with previous: CounterTally) -> Int {
        max(0, missingCount + previous.missingCount)
    }

    /// Below 0 if counters of an earlier half came late.
    private var missingCount: Int { Int(highest) - Int(base) - Int(seenCount) }

    /// Takes the count of all gateways together, unless it is older than the known one.
    mutating func merge(_ other: CounterTally) {
        if other.seenCount >= seenCount { self = other }
    }

    /// The beginning of the next half, which continues where this one ended. After a half in which
    /// nothing was accepted it begins anew: otherwise a key whose requests were refused for a
    /// window would be refused for the signatures that it made meanwhile.
    func following() -> CounterTally {
        var next = CounterTally()
        guard seenCount > 0 else { return next }
        next.base = highest
        next.highest = highest
        return next
    }
}
