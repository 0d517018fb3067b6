/// The facts about a request that signals state.
package struct SignalFacts {
    private struct Found {
        /// The counts by ``Signal``; -1 if one is not asked for or not known.
        var counts = InlineArray<13, Int32>(repeating: -1)
        var raised: [SignalRule] = []
    }

    // Indirect, because every request's judgement and verdict have room for it, and hardly any has
    // signals.
    private indirect enum Content {
        case nothing
        case found(Found)
    }

    private var content = Content.nothing

    package init() {}

    /// The rules whose signals are raised, in the order in which they were found.
    package var raised: [SignalRule] {
        guard case .found(let found) = content else { return [] }
        return found.raised
    }

    /// Notes that the signal of `rule` has come to `count`; it is raised above its bound.
    package mutating func found(_ count: Int, by rule: SignalRule) {
        var found = Found()
        if case .found(let earlier) = content { found = earlier }
        found.counts[rule.signal.rawValue] = Int32(clamping: count)
        if count > rule.countMax { found.raised.append(rule) }
        content = .found(found)
    }

    package func count(of signal: Signal) -> Int? {
        guard case .found(let found) = content else { return nil }
        let count = found.counts[signal.rawValue]
        return count < 0 ? nil : Int(count)
    }
}
