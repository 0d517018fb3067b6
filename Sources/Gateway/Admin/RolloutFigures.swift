import Background
import Policy
import Settings

/// The state of one rollout, for metrics and the status page.
struct RolloutFigures {
    let name: String
    /// The share in percent, or nil if it is unknown.
    let percent: Int?
    /// The state of the rollout, or nil if the configuration sets the share.
    let state: RolloutState?
    let isByPlan: Bool

    /// The figures of all routes that enforce, and of `endpoints.attest_rollout`.
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
