import Judgement

extension ForeignUse {
    /// The counts of all workers, by decision, in a stable order.
    static func all(_ hub: Hub) -> [(use: ForeignUse, counts: [UInt64])] {
        var sums: [ForeignUse: [UInt64]] = [:]
        for meter in hub.meters {
            sums.merge(meter.foreign.counts) { left, right in zip(left, right).map { $0 &+ $1 } }
        }
        return sums.sorted { $0.key < $1.key }.map { (use: $0.key, counts: $0.value) }
    }

    /// The requests that would have had nothing to show without these tokens.
    static func counts(_ hub: Hub) -> [(ForeignUse, UInt64)] {
        all(hub).map { ($0.use, $0.counts[Int(Decision.foreign.rawValue)]) }
    }
}
