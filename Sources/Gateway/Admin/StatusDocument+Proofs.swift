import Background
import EventLoop
import JSON
import Policy
import Settings

extension StatusDocument {
    /// Writes who would lose access if an issuer's tokens were not accepted any more.
    func writeProofs(_ writer: inout JSONWriter) {
        let uses = ForeignUse.counts(hub).filter { $0.1 > 0 }
        writer.beginArray("proofs")
        for proof in site.settings.proofs {
            writer.beginObject()
            writer.member("name", string: proof.name)
            writer.member("tier", constant: proof.tier.name)
            writeKeys(proof, &writer)
            writer.beginArray("passed_by_it_alone")
            for (use, count) in uses where use.proof == proof.name {
                writer.beginObject()
                writer.member("route", string: use.route)
                writer.member("subject", string: use.subject)
                for range in HistoryRange.allCases {
                    let sums = history.foreignUses.sums(use, range, at: history.minute)
                    writer.member(
                        range == .hour ? "hour" : "day", unsigned: sums.first ?? 0)
                }
                writer.member("total", unsigned: count)
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeKeys(_ proof: ProofSettings, _ writer: inout JSONWriter) {
        guard let place = IssuerKeyRegister.Place(proof) else {
            return writer.member("keys", constant: "pinned")
        }
        let figures = hub.issuerKeys.keys(of: place).figures
        writer.member("keys", constant: "fetched")
        writer.member("key_count", int: Int64(figures.keyCount))
        if let age = figures.age(at: instant) {
            writer.member("age_s", int: age.components.seconds)
        } else {
            writer.null("age_s")
        }
        if let failure = figures.failure {
            writer.member("failure", string: failure)
        } else {
            writer.null("failure")
        }
    }
}
