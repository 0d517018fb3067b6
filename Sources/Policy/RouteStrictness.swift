/// The strictness of a route, by which routes to the same place are compared.
///
/// It is a partial order: each of two routes may demand something that the other does not. One
/// route covers another if it lets no request pass that the other would have refused.
struct RouteStrictness: Hashable, Sendable {
    private let policy: RoutePolicy
    private let bodyRules: Set<BodyRule>
    private let quotas: Set<String>

    init(_ route: Route) {
        var policy = route.attest
        // The name of a member of the body makes no route stricter.
        policy.challengeMember = ""
        policy.keyIDMember = nil
        self.policy = policy
        bodyRules = Set(route.bodyRules)
        quotas = Set(route.quotas)
    }

    private var onMissing: Leniency { Leniency(policy.onMissing, policy.limits.missing) }
    private var onInvalid: Leniency { Leniency(policy.onInvalid, policy.limits.invalid) }
    private var onLowerTier: Leniency { Leniency(policy.onLowerTier, policy.limits.lowerTier) }

    var isLooking: Bool { policy.mode != .off || !bodyRules.isEmpty || !quotas.isEmpty }
    var isEnforcing: Bool { policy.mode == .enforce }

    func covers(_ other: RouteStrictness) -> Bool { settingsBelow(other).isEmpty }

    /// The settings, by their names in the configuration, in which `other` demands what this one
    /// does not.
    func settingsBelow(_ other: RouteStrictness) -> [String] {
        let rules = [
            ("body_rules", other.bodyRules.isSubset(of: bodyRules)),
            ("quota", other.quotas.isSubset(of: quotas)),
        ].filter { !$0.1 }.map(\.0)
        guard isEnforcing, other.isEnforcing else {
            return (policy.mode.strictness < other.policy.mode.strictness ? ["mode"] : []) + rules
        }
        let comparisons = [
            ("client_data", !isSigned(as: other) || coversClientData(of: other)),
            (
                "body",
                !isSigned(as: other) || policy.body == .required || other.policy.body == .claimed
            ),
            (
                "challenge",
                !isSigned(as: other) || policy.challenge == .required
                    || other.policy.challenge == .off
            ),
            ("replay", !isSigned(as: other) || policy.replay.covers(other.policy.replay)),
            ("rollout", policy.rolloutPercent >= other.policy.rolloutPercent),
            (
                "accept",
                (policy.minTier != other.policy.minTier || coversTiers(of: other))
                    && (other.policy.accept.contains(.developer)
                        || !policy.accept.contains(.developer))
                    && policy.proofs.allSatisfy(other.policy.proofs.contains)
            ),
            ("min_tier", policy.minTier == other.policy.minTier || coversTiers(of: other)),
            ("on_missing", onMissing.isCovered(by: other.onMissing)),
            ("on_invalid", onInvalid.isCovered(by: other.onInvalid)),
            ("on_store_failure", coversStoreFailure(of: other)),
            ("apps", policy.apps.isSubset(of: other.policy.apps)),
            (
                "environments",
                policy.environments.isSubset(of: other.policy.environments)
            ),
            ("categories", policy.categories.isSubset(of: other.policy.categories)),
            ("min_bundle_version", coversVersions(of: other)),
            ("risk", coversRisk(of: other)),
        ]
        return comparisons.filter { !$0.1 }.map(\.0) + rules
    }

    // MARK: single settings

    /// True if both routes accept assertions. If one does not, their rules of signing make no
    /// difference.
    private func isSigned(as other: RouteStrictness) -> Bool {
        policy.accept.contains(.assertion) && other.policy.accept.contains(.assertion)
    }

    /// The `header` shape signs method and path too.
    private func coversClientData(of other: RouteStrictness) -> Bool {
        policy.clientData == .header || other.policy.clientData == .body
    }

    /// The leniency towards a proof of `tier`, or towards the best accepted one below it.
    private func leniency(at tier: TrustTier) -> Leniency {
        let taken = TrustTier.allCases.filter { $0 <= tier && policy.accepts($0) }
        guard let best = taken.last else { return Leniency(.deny, nil) }
        return best >= policy.minTier ? Leniency(.pass, nil) : onLowerTier
    }

    private func coversTiers(of other: RouteStrictness) -> Bool {
        TrustTier.allCases.allSatisfy { leniency(at: $0).isCovered(by: other.leniency(at: $0)) }
    }

    private func coversStoreFailure(of other: RouteStrictness) -> Bool {
        if policy.onStoreFailure == .limit, other.policy.onStoreFailure == .limit {
            return policy.limits.storeFailure == other.policy.limits.storeFailure
        }
        return policy.onStoreFailure.strictness >= other.policy.onStoreFailure.strictness
    }

    private func coversVersions(of other: RouteStrictness) -> Bool {
        guard let theirs = other.policy.versions else { return true }
        guard let own = policy.versions else { return false }
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

extension RouteStrictness {
    private func coversRisk(of other: RouteStrictness) -> Bool {
        guard let theirs = other.policy.risk, theirs.action != .observe else { return true }
        guard let own = policy.risk, own.max <= theirs.max else { return false }
        switch (own.action, theirs.action) {
        case (.deny, _): return true
        case (.limit, .limit):
            return policy.limits.risk == other.policy.limits.risk
        case (.lower, let action):
            // The upstream reads the tier, whichever requests are let through.
            guard action != .lower || own.tier <= theirs.tier else { return false }
            return riskLeniency(own).isCovered(by: other.riskLeniency(theirs))
        default: return false
        }
    }

    /// The leniency towards the best proof of a key at risk.
    private func riskLeniency(_ rule: RiskRule) -> Leniency {
        switch rule.action {
        case .observe: Leniency(.pass, nil)
        case .limit: Leniency(.limit, policy.limits.risk)
        case .lower: rule.tier >= policy.minTier ? Leniency(.pass, nil) : onLowerTier
        case .deny: Leniency(.deny, nil)
        }
    }
}

/// The action on a request, with its rate limit.
private struct Leniency: Hashable, Sendable {
    let action: ShortfallAction
    let limit: String?

    init(_ action: ShortfallAction, _ limit: String?) {
        self.action = action
        self.limit = limit
    }

    /// True if all that comes through here comes through `other` too. Two limits count as
    /// different, because together they let in more requests than either.
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
    /// True if no counter passes here that `other` would have refused. Only `durable` counters
    /// survive every failure.
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
        let settings = RouteStrictness(self).settingsBelow(RouteStrictness(other))
        return settings.isEmpty && mayFallBehind(other) ? ["rollout"] : settings
    }

    /// True if one of two shares that move by themselves, or are set elsewhere by hand, may come to
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

/// The strictness of all routes of a table, compared once: only few differ.
struct StrictnessOrder: Sendable {
    /// The index of each route's strictness among the different ones.
    private let classes: [Int]
    private let members: [RouteStrictness]
    /// A row for each of them: those that it covers.
    private let coverage: [Bool]

    init(_ routes: [Route]) {
        var numbers: [RouteStrictness: Int] = [:]
        var members: [RouteStrictness] = []
        classes = routes.map { route in
            let strictness = RouteStrictness(route)
            if let number = numbers[strictness] { return number }
            numbers[strictness] = members.count
            members.append(strictness)
            return members.count - 1
        }
        self.members = members
        coverage = members.flatMap { one in members.map(one.covers) }
    }

    /// The number of a route's strictness: the same for routes that demand the same.
    func strictnessClass(of route: Int) -> Int { classes[route] }

    func isLooking(_ route: Int) -> Bool { members[classes[route]].isLooking }

    func isEnforcing(_ route: Int) -> Bool { members[classes[route]].isEnforcing }

    /// The stricter of two routes; nil if each demands something that the other does not.
    func stricter(_ route: Int?, _ other: Int?) -> Int? {
        guard let route, let other, !covers(route, other) else { return route }
        return covers(other, route) ? other : nil
    }

    /// True if the route at `index` demands all that the one at `other` does.
    func covers(_ index: Int, _ other: Int) -> Bool {
        coverage[classes[index] * members.count + classes[other]]
    }
}
