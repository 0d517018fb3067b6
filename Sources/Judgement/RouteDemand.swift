package import Policy

/// The demands of a route on a request, compiled from its ``RoutePolicy``.
///
/// It is made once for each configuration, and every request of the route refers to it.
package final class RouteDemand: Sendable {
    package let policy: RoutePolicy
    /// True for a route, false for one of the gateway's own endpoints.
    package let isOfRoute: Bool
    /// True if a valid proof alone is not enough; most routes demand nothing else.
    let looksAtApp: Bool
    /// The apps whose requests are accepted, by app ID; nil for all.
    let apps: Set<String>?
    /// True if a DeviceCheck token, which names only a team, is accepted.
    let takesDevices: Bool

    /// The demand of a route. `takesDevices` returns true if all of the apps belong to the team of
    /// DeviceCheck.
    package init(_ policy: RoutePolicy, takesDevices: (Set<String>) -> Bool) {
        self.policy = policy
        isOfRoute = true
        looksAtApp = policy.isDemanding || policy.risk != nil
        apps = policy.apps.only
        self.takesDevices = apps.map(takesDevices) ?? true
    }

    /// The demand of one of the gateway's own endpoints.
    package init(ofEndpoint policy: RoutePolicy) {
        self.policy = policy
        isOfRoute = false
        looksAtApp = false
        apps = nil
        takesDevices = true
    }

    /// A demand without any condition.
    package static let nothing = RouteDemand(ofEndpoint: RoutePolicy())

    /// The route's action on requests that fall short in this way.
    func action(for shortfall: Shortfall) -> ShortfallAction {
        switch shortfall {
        case .missing: policy.onMissing
        case .invalid: policy.onInvalid
        case .unjudged: policy.onStoreFailure.action
        case .lowerTier: policy.onLowerTier
        }
    }

    /// True if requests of this app are accepted; nil stands for an app that is not known.
    func takes(_ appID: String?) -> Bool {
        guard let apps else { return true }
        return appID.map(apps.contains) ?? false
    }

    /// Throws if the route is not for the app, or not for the way in which the app came onto the
    /// device. An unknown app or way is refused, unless all are accepted.
    func check(_ facts: ProvenFacts) throws(Refusal) {
        guard facts.isOfDevice ? takesDevices : takes(facts.appID) else {
            throw Refusal.appMismatch
        }
        guard policy.environments.isSuperset(of: facts.environments) else {
            throw Refusal(.distributionNotAllowed, .environment)
        }
        guard policy.categories.contains(facts.validationCategory) else {
            throw Refusal(
                .distributionNotAllowed,
                facts.validationCategory == nil ? .categoryMissing : .category)
        }
    }

    /// True if the app is older than the route wants; throws if it is too old.
    func isOutdated(_ facts: ProvenFacts) throws(Refusal) -> Bool {
        guard let versions = policy.versions else { return false }
        switch versions.verdict(version: facts.bundleVersion, appID: facts.appID) {
        case .current: return false
        case .outdated: return true
        case .tooOld: throw Refusal(.appOutdated, .version)
        case .malformed: throw Refusal(.appOutdated, .versionMalformed)
        case .missing: throw Refusal(.appOutdated, .versionMissing)
        }
    }
}
