import Background
import JSON
import Policy
import Settings

extension StatusDocument {
    /// Writes the requests that would be refused if an issuer's tokens were not accepted any more.
    func writeProofs(_ writer: inout JSONWriter) {
        writer.beginArray("proofs")
        for issuer in IssuerFigures.all(self) {
            writer.beginObject()
            writer.member("name", string: issuer.settings.name)
            writer.member("tier", constant: issuer.settings.tier.name)
            writeKeys(issuer, &writer)
            writer.member("accepted", unsigned: issuer.accepted)
            writer.member("refused", unsigned: issuer.refused)
            writer.beginArray("passed_by_it_alone")
            for use in issuer.alone {
                writer.beginObject()
                writer.member("route", string: use.name.route)
                writer.member("subject", string: use.name.subject)
                writer.member("hour", unsigned: use.hour)
                writer.member("day", unsigned: use.day)
                writer.member("total", unsigned: use.total)
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeKeys(_ issuer: IssuerFigures, _ writer: inout JSONWriter) {
        guard let figures = issuer.keys else { return writer.member("keys", constant: "pinned") }
        writer.member("keys", constant: "fetched")
        writer.member("key_count", int: Int64(figures.keyCount))
        if let age = issuer.ageSeconds(at: instant) {
            writer.member("age_s", int: age)
        } else {
            writer.null("age_s")
        }
        writer.member("next_s", int: issuer.nextSeconds(at: instant) ?? 0)
        if let failure = figures.failure {
            writer.member("failure", string: failure)
        } else {
            writer.null("failure")
        }
    }
}
