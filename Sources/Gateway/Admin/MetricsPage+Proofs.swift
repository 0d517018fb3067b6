import Background
import EventLoop
import Judgement
import Settings
import Telemetry

extension MetricsPage {
    /// Writes the uses of other issuers' tokens, and the state of the keys that check them.
    static func writeProofs(_ hub: Hub, _ site: Site, _ page: inout MetricFamilies) {
        let proofs = site.settings.proofs
        guard !proofs.isEmpty else { return }
        page.family(
            "sallyport_proof_requests_total", .counter,
            help: "Requests with a token of another issuer, by what was decided about them: "
                + "foreign are those that passed by it alone.")
        for (use, counts) in ForeignUse.all(hub) {
            for (decision, count) in zip(Decision.allCases, counts) where count > 0 {
                page.sample(
                    [
                        ("route", use.route), ("proof", use.proof), ("subject", use.subject),
                        ("decision", decision.name.description),
                    ], count)
            }
        }
        let fetched = proofs.compactMap { proof in
            IssuerKeyRegister.Place(proof).map { place in
                (proof.name, hub.issuerKeys.keys(of: place).figures)
            }
        }
        guard !fetched.isEmpty else { return }
        page.family(
            "sallyport_jwks_fetches_total", .counter,
            help: "Questions to issuers for their keys, by their outcome.")
        for (name, figures) in fetched {
            for outcome in IssuerKeys.Outcome.allCases {
                page.sample(
                    [("proof", name), ("outcome", outcome.rawValue)], figures.counts[outcome] ?? 0)
            }
        }
        page.family(
            "sallyport_jwks_keys", .gauge,
            help: "Keys of an issuer with which tokens are checked; with 0, no token is accepted.")
        for (name, figures) in fetched { page.sample([("proof", name)], UInt64(figures.keyCount)) }
        page.family(
            "sallyport_jwks_age_seconds", .gauge,
            help: "The age of an issuer's keys; after 24 hours they are forgotten.")
        let now = MonotonicInstant.now()
        for (name, figures) in fetched {
            guard let age = figures.age(at: now) else { continue }
            page.sample([("proof", name)], UInt64(age.components.seconds))
        }
    }
}
