import Background
import EventLoop
import Judgement
import Settings

extension ForeignIssuer {
    /// The names of the issuers whose keys were never fetched, so that their tokens cannot be
    /// judged.
    static func withoutKeys(_ hub: Hub, _ site: Site) -> [String] {
        site.settings.proofs.filter { proof in
            IssuerKeyRegister.Place(proof).map { hub.issuerKeys.keys(of: $0).figures.keyCount == 0 }
                ?? false
        }.map(\.name)
    }
}

extension ForeignUse {
    /// The counts of all workers by decision, in a stable order.
    static func all(_ hub: Hub) -> [(use: ForeignUse, counts: [UInt64])] {
        var sums: [ForeignUse: [UInt64]] = [:]
        for meter in hub.meters {
            sums.merge(meter.foreign.counts) { left, right in zip(left, right).map { $0 &+ $1 } }
        }
        return sums.sorted { $0.key < $1.key }.map { (use: $0.key, counts: $0.value) }
    }

    /// The numbers of requests that had no other proof than these tokens.
    static func counts(_ hub: Hub) -> [(ForeignUse, UInt64)] {
        all(hub).map { ($0.use, $0.counts[Int(Decision.foreign.rawValue)]) }
    }
}

/// The figures of one issuer of other tokens, for the status page and its JSON.
struct IssuerFigures {
    /// The requests of one route and subject that passed by the issuer's tokens alone.
    struct Use {
        let name: ForeignUse
        let hour: UInt64
        let day: UInt64
        let total: UInt64
    }

    let settings: ProofSettings
    /// Nil for pinned keys.
    let keys: IssuerKeys.Figures?
    /// The numbers of valid tokens, whatever became of their requests, and of invalid ones.
    private(set) var accepted: UInt64 = 0
    private(set) var refused: UInt64 = 0
    private(set) var alone: [Use] = []

    static func all(_ document: StatusDocument) -> [IssuerFigures] {
        let uses = ForeignUse.all(document.hub)
        return document.site.settings.proofs.map { proof in
            IssuerFigures(proof, uses.filter { $0.use.proof == proof.name }, document)
        }
    }

    private init(
        _ proof: ProofSettings, _ uses: [(use: ForeignUse, counts: [UInt64])],
        _ document: StatusDocument
    ) {
        settings = proof
        keys = IssuerKeyRegister.Place(proof).map { document.hub.issuerKeys.keys(of: $0).figures }
        for (use, counts) in uses {
            let all = counts.reduce(0, &+)
            if use.isVerified {
                accepted &+= all
            } else {
                // A token without a judgement has not been looked at, so it was not refused.
                refused &+= all &- counts[Int(Decision.unjudged.rawValue)]
            }
            let total = counts[Int(Decision.foreign.rawValue)]
            guard total > 0 else { continue }
            let history = document.history
            func sum(_ range: HistoryRange) -> UInt64 {
                history.foreignUses.sums(use, range, at: history.minute).first ?? 0
            }
            alone.append(Use(name: use, hour: sum(.hour), day: sum(.day), total: total))
        }
    }

    /// Whole seconds since the keys were fetched; nil if there are none.
    func ageSeconds(at now: MonotonicInstant) -> Int64? { keys?.age(at: now)?.components.seconds }

    /// Whole seconds until the issuer is asked again; 0 while it is being asked, and nil if it
    /// never is.
    func nextSeconds(at now: MonotonicInstant) -> Int64? {
        keys.map { figures in (figures.dueAt.map { $0 - now } ?? .zero).components.seconds }
    }
}
