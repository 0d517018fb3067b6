import Background
import Judgement
import Settings

extension ForeignIssuer {
    /// The names of the issuers of whose keys none has been fetched, so that no token is judged.
    static func withoutKeys(_ hub: Hub, _ site: Site) -> [String] {
        site.settings.proofs.filter { proof in
            IssuerKeyRegister.Place(proof).map { hub.issuerKeys.keys(of: $0).figures.keyCount == 0 }
                ?? false
        }.map(\.name)
    }
}

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
