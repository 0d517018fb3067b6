/// All that a route demands of a request, as far as routes to the same place are compared.
///
/// A partial order: of two routes each may demand what the other does not. One covers another where
/// no request passes it that the other would have refused.
struct RouteDemand: Hashable, Sendable {
    private let mode: AttestMode
    private let rolloutPercent: Int
    private let clientData: ClientDataShape
    private let challenge: ChallengeRequirement
    private let replay: ReplayPolicy
    private let accept: AcceptedProofs
    private let minTier: TrustTier
    private let onMissing: Leniency
    private let onInvalid: Leniency
    private let onLowerTier: Leniency
    private let storeFailure: StoreFailurePolicy
    private let restrictions: RouteRestrictions

    init(_ route: Route) {
        let policy = route.attest
        let limits = route.restrictions.limits
        mode = policy.mode
        rolloutPercent = policy.rolloutPercent
        clientData = policy.clientData
        challenge = policy.challenge
        replay = policy.replay
        accept = policy.accept
        minTier = policy.minTier
        onMissing = Leniency(policy.onMissing, limits.missing)
        onInvalid = Leniency(policy.onInvalid, limits.invalid)
        onLowerTier = Leniency(policy.onLowerTier, limits.lowerTier)
        storeFailure = policy.onStoreFailure
        restrictions = route.restrictions
    }

    var isLooking: Bool { mode != .off }
    var isEnforcing: Bool { mode == .enforce }

    func covers(_ other: RouteDemand) -> Bool { settingsBelow(other).isEmpty }

    /// The settings, by their names in the configuration, in which `other` demands what this one
    /// does not.
    func settingsBelow(_ other: RouteDemand) -> [String] {
        guard isEnforcing, other.isEnforcing else {
            return mode.strictness < other.mode.strictness ? ["mode"] : []
        }
        let comparisons = [
            ("client_data", !isSigned(as: other) || coversClientData(of: other)),
            (
                "challenge",
                !isSigned(as: other) || challenge == .required || other.challenge == .off
            ),
            ("replay", !isSigned(as: other) || replay.covers(other.replay)),
            ("rollout", rolloutPercent >= other.rolloutPercent),
            (
                "accept",
                (minTier != other.minTier || coversTiers(of: other))
                    && (other.accept.contains(.developer) || !accept.contains(.developer))
            ),
            ("min_tier", minTier == other.minTier || coversTiers(of: other)),
            ("on_missing", onMissing.isCovered(by: other.onMissing)),
            ("on_invalid", onInvalid.isCovered(by: other.onInvalid)),
            ("on_store_failure", coversStoreFailure(of: other)),
            ("apps", restrictions.apps.isSubset(of: other.restrictions.apps)),
            (
                "environments",
                restrictions.environments.isSubset(of: other.restrictions.environments)
            ),
            ("categories", restrictions.categories.isSubset(of: other.restrictions.categories)),
            ("min_bundle_version", coversVersions(of: other)),
            ("risk", coversRisk(of: other)),
        ]
        return comparisons.filter { !$0.1 }.map(\.0)
    }

    // MARK: single settings

    /// Both take assertions: how one is signed makes no difference where there is none.
    private func isSigned(as other: RouteDemand) -> Bool {
        accept.contains(.assertion) && other.accept.contains(.assertion)
    }

    /// The `header` shape signs method and path too.
    private func coversClientData(of other: RouteDemand) -> Bool {
        clientData == .header || other.clientData == .body
    }

    /// What becomes of a proof that is worth `tier`, or of the best one below it that is taken.
    private func leniency(at tier: TrustTier) -> Leniency {
        let taken = TrustTier.allCases.filter {
            $0 <= tier && !accept.isDisjoint(with: .worth($0))
        }
        guard let best = taken.last else { return Leniency(.deny, nil) }
        return best >= minTier ? Leniency(.pass, nil) : onLowerTier
    }

    private func coversTiers(of other: RouteDemand) -> Bool {
        TrustTier.allCases.allSatisfy { leniency(at: $0).isCovered(by: other.leniency(at: $0)) }
    }

    private func coversStoreFailure(of other: RouteDemand) -> Bool {
        if storeFailure == .limit, other.storeFailure == .limit {
            return restrictions.limits.storeFailure == other.restrictions.limits.storeFailure
        }
        return storeFailure.strictness >= other.storeFailure.strictness
    }

    private func coversVersions(of other: RouteDemand) -> Bool {
        guard let theirs = other.restrictions.versions else { return true }
        guard let own = restrictions.versions else { return false }
        guard own.missing.strictness >= theirs.missing.strictness else { return false }
        let named = (Array(own.apps.keys) + theirs.apps.keys).map { id in
            (own.bounds(of: id), theirs.bounds(of: id))
        }
        return (named + [(own.common, theirs.common)]).allSatisfy { own, theirs in
            guard let theirs else { return true }
            guard let own else { return false }
            return theirs.floor.order(of: own.floor.text) != .before
        }
    }
}

extension RouteDemand {
    private func coversRisk(of other: RouteDemand) -> Bool {
        guard let theirs = other.restrictions.risk, theirs.action != .observe else { return true }
        guard let own = restrictions.risk, own.max <= theirs.max else { return false }
        switch (own.action, theirs.action) {
        case (.deny, _): return true
        case (.limit, .limit):
            return restrictions.limits.risk == other.restrictions.limits.risk
        case (.lower, let action):
            // The upstream reads the tier, whatever is let through.
            guard action != .lower || own.tier <= theirs.tier else { return false }
            return riskLeniency(own).isCovered(by: other.riskLeniency(theirs))
        default: return false
        }
    }

    /// What becomes of the best proof of a key at risk.
    private func riskLeniency(_ rule: RiskRule) -> Leniency {
        switch rule.action {
        case .observe: Leniency(.pass, nil)
        case .limit: Leniency(.limit, restrictions.limits.risk)
        case .lower: rule.tier >= minTier ? Leniency(.pass, nil) : onLowerTier
        case .deny: Leniency(.deny, nil)
        }
    }
}

/// What becomes of a request, and by which rate limit.
private struct Leniency: Hashable, Sendable {
    let action: ShortfallAction
    let limit: String?

    init(_ action: ShortfallAction, _ limit: String?) {
        self.action = action
        self.limit = limit
    }

    /// Whether all that comes through here comes through `other` too. Two limits are two: how far
    /// both let a request in is more than either.
    func isCovered(by other: Leniency) -> Bool {
        switch (action, other.action) {
        case (.deny, _), (_, .pass): true
        case (.limit, .limit): limit == other.limit
        case (.limit, .deny), (.pass, _): false
        }
    }
}

extension AttestMode {
    fileprivate var strictness: Int {
        switch self {
        case .off: 0
        case .observe: 1
        case .enforce: 2
        }
    }
}

extension StoreFailurePolicy {
    fileprivate var strictness: Int {
        switch self {
        case .pass: 0
        case .limit: 1
        case .tokensOnly: 2
        case .deny: 3
        }
    }
}

extension ReplayPolicy {
    /// Whether no counter passes here that `other` would have refused; only `durable` ones are kept
    /// where no failure loses them.
    fileprivate func covers(_ other: ReplayPolicy) -> Bool {
        switch (self, other) {
        case (.durable, _), (.strict, .strict), (.strict, .window): true
        case (.window(let size), .window(let theirs)): size <= theirs
        case (.window(let size), .strict): size <= 1
        case (.strict, .durable), (.window, .durable): false
        }
    }
}

extension VersionRule.Unknown {
    fileprivate var strictness: Int { self == .deny ? 1 : 0 }
}

extension Route {
    /// The settings in which `other` demands what this route does not: ``RouteWeakness``.
    public func settingsBelow(_ other: Route) -> [String] {
        let settings = RouteDemand(self).settingsBelow(RouteDemand(other))
        return settings.isEmpty && mayFallBehind(other) ? ["rollout"] : settings
    }

    /// Whether one of two shares that move by themselves, or are put elsewhere by hand, may come to
    /// refuse what this route then lets pass.
    func mayFallBehind(_ other: Route) -> Bool {
        guard attest.mode == .enforce, other.attest.mode == .enforce, name != other.name,
            rollout != nil || other.rollout != nil
        else { return false }
        let least = rollout == nil ? attest.rolloutPercent : 0
        let most = other.rollout == nil ? other.attest.rolloutPercent : 100
        return least < most
    }
}

/// The demands of all routes of a table, compared once: there are few that differ.
struct DemandOrder: Sendable {
    /// Which of the different demands each route has.
    private let classes: [Int]
    private let demands: [RouteDemand]
    /// A row for each demand: the demands that it covers.
    private let coverage: [Bool]

    init(_ routes: [Route]) {
        var numbers: [RouteDemand: Int] = [:]
        var demands: [RouteDemand] = []
        classes = routes.map { route in
            let demand = RouteDemand(route)
            if let number = numbers[demand] { return number }
            numbers[demand] = demands.count
            demands.append(demand)
            return demands.count - 1
        }
        self.demands = demands
        coverage = demands.flatMap { demand in demands.map(demand.covers) }
    }

    /// The number of a route's demand: the same for the same demand.
    func demandClass(of route: Int) -> Int { classes[route] }

    func isLooking(_ route: Int) -> Bool { demands[classes[route]].isLooking }

    func isEnforcing(_ route: Int) -> Bool { demands[classes[route]].isEnforcing }

    /// The one that demands more, where there are two; nil where each demands what the other does
    /// not.
    func stricter(_ route: Int?, _ other: Int?) -> Int? {
        guard let route, let other, !covers(route, other) else { return route }
        return covers(other, route) ? other : nil
    }

    /// Whether the route at `index` demands all that the one at `other` does.
    func covers(_ index: Int, _ other: Int) -> Bool {
        coverage[classes[index] * demands.count + classes[other]]
    }
}
