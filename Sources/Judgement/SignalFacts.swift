/// The facts about a request that signals state.
package struct SignalFacts {
    /// Counts by ``Signal``; -1 if it is not asked for or not known. Small, since every request's
    /// judgement has a place for them.
    private var counts = InlineArray<11, Int32>(repeating: -1)
    /// The rules whose signals are raised, in the order in which they were found.
    package private(set) var raised: [SignalRule] = []

    package init() {}

    /// The signal of `rule` has come to `count`; it is raised above its bound.
    package mutating func found(_ count: Int, by rule: SignalRule) {
        counts[rule.signal.rawValue] = Int32(clamping: count)
        if count > rule.countMax { raised.append(rule) }
    }

    package func count(of signal: Signal) -> Int? {
        let count = counts[signal.rawValue]
        return count < 0 ? nil : Int(count)
    }
}
