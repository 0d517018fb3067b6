import Policy
import Settings

/// Where one rollout stands, for metrics and the status page.
struct RolloutFigures {
    let name: String
    /// Nil where nobody knows.
    let percent: Int?
    /// Nil where the share is the configuration's.
    let state: RolloutState?
    let isByPlan: Bool

    /// Of all routes that enforce, and of who may attest.
    static func all(_ site: Site) -> [RolloutFigures] {
        var figures: [RolloutFigures] = []
        for (route, share) in zip(site.settings.routes, site.rollouts)
        where route.attest.mode == .enforce {
            figures.append(RolloutFigures(route.name, share, fixed: route.attest.rolloutPercent))
        }
        let subject = RolloutSubject.attestation
        figures.append(
            RolloutFigures(
                subject.name, site.attestRollout,
                fixed: site.settings.endpoints.attestRollout.percent))
        return figures
    }

    private init(_ name: String, _ share: RolloutShare?, fixed: Int) {
        self.name = name
        percent = share.map(\.percent) ?? fixed
        state = share?.state
        isByPlan = share != nil
    }
}
