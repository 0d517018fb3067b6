/// The facts about a request that signals state.
package struct SignalFacts {
    /// The counts by ``Signal``; -1 if one is not asked for or not known. They are small, because
    /// every request's judgement has room for them.
    private var counts = InlineArray<13, Int32>(repeating: -1)
    /// The rules whose signals are raised, in the order in which they were found.
    package private(set) var raised: [SignalRule] = []

    package init() {}

    /// Notes that the signal of `rule` has come to `count`; it is raised above its bound.
    package mutating func found(_ count: Int, by rule: SignalRule) {
        counts[rule.signal.rawValue] = Int32(clamping: count)
        if count > rule.countMax { raised.append(rule) }
    }

    package func count(of signal: Signal) -> Int? {
        let count = counts[signal.rawValue]
        return count < 0 ? nil : Int(count)
    }
}
