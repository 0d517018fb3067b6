import AppAttest
import GatewayTokens
import KeyStore
import Policy
import Settings

/// What a route demands of a request whose proof holds, and the rate limits of those that fall
/// short, ready for the request path. Most routes have none.
final class RouteStandard: Sendable {
    /// Whose requests are taken, by app id; nil for those of every app.
    let apps: Set<String>?
    /// Whether a token of DeviceCheck does, which tells its team alone.
    let takesDevices: Bool
    let environments: KeyEnvironments
    let categories: AppCategories
    let versions: VersionRule?
    let risk: RiskRule?
    let missingLimit: RateLimit?
    let invalidLimit: RateLimit?
    let storeFailureLimit: RateLimit?
    let lowerTierLimit: RateLimit?
    let riskLimit: RateLimit?

    init?(
        _ restrictions: RouteRestrictions, _ rateLimits: [String: RateLimit], _ settings: Settings
    ) {
        var rest = restrictions
        rest.apps = .unnamed
        let apps = restrictions.apps.only
        if apps == nil, rest == RouteRestrictions() { return nil }
        self.apps = apps
        takesDevices =
            if let apps, let deviceCheck = settings.deviceCheck {
                settings.takesDevices(of: deviceCheck.teamID, for: apps)
            } else {
                apps == nil
            }
        environments = restrictions.environments
        categories = restrictions.categories
        versions = restrictions.versions
        risk = restrictions.risk
        let limits = restrictions.limits
        missingLimit = limits.missing.flatMap { rateLimits[$0] }
        invalidLimit = limits.invalid.flatMap { rateLimits[$0] }
        storeFailureLimit = limits.storeFailure.flatMap { rateLimits[$0] }
        lowerTierLimit = limits.lowerTier.flatMap { rateLimits[$0] }
        riskLimit = limits.risk.flatMap { rateLimits[$0] }
    }
}

extension RouteStandard {
    /// Whether requests of this app are taken; nil stands for one that is not known.
    func takes(_ appID: String?) -> Bool {
        guard let apps else { return true }
        return appID.map(apps.contains) ?? false
    }
}

/// In what way a request falls short of what its route demands.
enum Shortfall {
    /// It has no proof.
    case missing
    /// Its proof does not hold.
    case invalid
    /// A store did not answer, so that nobody knows.
    case unjudged
    /// Its proof holds, and is worth less than the route wants.
    case lowerTier

    /// The word in `X-Attest-Result`.
    var result: StaticString {
        switch self {
        case .missing: "missing"
        case .invalid: "invalid"
        case .unjudged: "unverified"
        case .lowerTier: "verified"
        }
    }
}

extension Refusal {
    /// Which of the route's policies has a say in it; nil where none has.
    var shortfall: Shortfall? {
        switch reason {
        case .assertionRequired: cause == .check(.tier) ? .lowerTier : .missing
        case .riskTooHigh: cause == .check(.tier) ? .lowerTier : nil
        case .tokenInvalid, .deviceTokenInvalid:
            cause == .check(.tokenMissing) ? .missing : .invalid
        case .assertionMalformed, .assertionInvalid, .assertionReplayed, .challengeExpired,
            .challengeRequired, .requestMismatch, .bodyMismatch, .keyUnknown, .keyRevoked:
            .invalid
        case .storeUnavailable: .unjudged
        default: nil
        }
    }

    /// By whatever proof: the app is right, and this route is not for it.
    static let appMismatch = Refusal(.distributionNotAllowed, .appMismatch)
}

extension Exchange {
    /// Lets a request that falls short pass where its route says so; else throws.
    func tolerate(_ refusal: Refusal) throws(Refusal) {
        guard let shortfall = refusal.shortfall else { throw refusal }
        bucket = bucket(of: refusal)
        switch shortfallPolicy(shortfall) {
        case (.pass, _): decision = shortfall == .unjudged ? .unjudged : .tolerated
        case (.limit, let limit?):
            try takeShortfall(limit, refusal)
            decision = .limited
        case (.deny, _), (.limit, nil): throw refusal
        }
        self.shortfall = shortfall
        reason = refusal.reason
        cause = refusal.cause
    }

    private func shortfallPolicy(_ shortfall: Shortfall) -> (ShortfallAction, RateLimit?) {
        switch shortfall {
        case .missing: (policy.onMissing, standard?.missingLimit)
        case .invalid: (policy.onInvalid, standard?.invalidLimit)
        case .unjudged: (policy.onStoreFailure.action, standard?.storeFailureLimit)
        case .lowerTier: (policy.onLowerTier, standard?.lowerTierLimit)
        }
    }

    /// The proof holds, and is worth `tier`: what the route demands beside it. Before anything is
    /// spent, so that what is refused here changes nothing.
    func meetStandard(_ tier: TrustTier) throws(Refusal) {
        self.tier = tier
        worth = tier
        if let standard { try meet(standard) }
        // Another assertion of this key would fare no better.
        try meetTier(self.tier, else: self.tier < tier ? .riskTooHigh : .assertionRequired)
    }

    /// As ``meetStandard(_:)``, of a proof that says nothing of an app.
    func meetTier(
        _ tier: TrustTier, else reason: Reason = .assertionRequired
    ) throws(Refusal) {
        self.tier = tier
        worth = tier
        guard tier < policy.minTier else { return }
        let refusal = Refusal(reason, .tier)
        if isOnlyObserved { throw refusal }
        try tolerate(refusal)
    }

    private func meet(_ standard: RouteStandard) throws(Refusal) {
        let isOfItsApps =
            device == nil ? standard.takes(app?.id ?? token?.appID) : standard.takesDevices
        guard isOfItsApps else { throw Refusal.appMismatch }
        // What is not known is not allowed, unless everything is.
        let environment =
            (key?.environment ?? token?.environment ?? device?.environment)?.asSet ?? .all
        guard standard.environments.isSuperset(of: environment) else {
            throw Refusal(.distributionNotAllowed, .environment)
        }
        let category = validationCategory
        guard standard.categories.contains(category) else {
            throw Refusal(
                .distributionNotAllowed,
                category == nil ? .categoryMissing : .category)
        }
        if let risk = standard.risk, risk.isAbove(key?.riskMetric) {
            try meet(risk, limit: standard.riskLimit)
        }
        guard let versions = standard.versions else { return }
        switch versions.verdict(version: bundleVersion, appID: app?.id ?? token?.appID) {
        case .current: break
        case .outdated: isOutdated = true
        case .tooOld: throw Refusal(.appOutdated, .version)
        case .malformed: throw Refusal(.appOutdated, .versionMalformed)
        case .missing: throw Refusal(.appOutdated, .versionMissing)
        }
    }

    private func meet(_ risk: RiskRule, limit: RateLimit?) throws(Refusal) {
        isRisky = true
        let refusal = Refusal(.riskTooHigh)
        switch risk.action {
        case .observe: return
        case .limit:
            guard let limit, !isOnlyObserved else { throw refusal }
            // Only tried: a replay must take nothing from its key.
            try takeShortfall(limit, refusal, isTrial: true)
            pendingLimit = limit
        case .lower: tier = min(tier, risk.tier)
        case .deny: throw refusal
        }
    }

    /// What is accepted for good: as it stands, or as its shortfall has it.
    func conclude() {
        if signals != nil { countRaised() }
        if let pendingLimit {
            // Others of its key may have come first meanwhile; this one has been let in.
            try? takeShortfall(pendingLimit, Refusal(.riskTooHigh))
            isBeyondShortfall = false
            decision = .limited
            if shortfall == nil { reason = .riskTooHigh }
        } else if shortfall == nil {
            decision = .verified
        }
    }
}
