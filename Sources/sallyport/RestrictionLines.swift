import AppAttest
import Policy
import Settings

/// What a route demands beside a proof, and what becomes of requests that fall short, in words.
enum RestrictionLines {
    static func lines(of route: Route) -> [String] {
        let (attest, restrictions) = (route.attest, route.restrictions)
        let limits = restrictions.limits
        var lines = [
            "without a proof \(words(attest.onMissing, limits.missing)), with a bad one "
                + words(attest.onInvalid, limits.invalid)
        ]
        if let limit = limits.storeFailure { lines.append("on store failure limit \(limit)") }
        if attest.minTier > .none {
            lines.append(
                "tier \(attest.minTier.name) at least, below it "
                    + words(attest.onLowerTier, limits.lowerTier))
        }
        if let apps = restrictions.apps.only {
            lines.append("apps \(apps.sorted().joined(separator: ", "))")
        }
        if restrictions.environments != .all {
            let names = AttestEnvironment.allCases
                .filter { restrictions.environments.contains($0.asSet) }.map(\.rawValue)
            lines.append("environments \(names.joined(separator: ", "))")
        }
        if restrictions.categories != .all { lines.append(categories(restrictions.categories)) }
        if let versions = restrictions.versions { lines += words(versions) }
        if let risk = restrictions.risk {
            let action =
                switch risk.action {
                case .limit: "limit \(limits.risk ?? "")"
                case .lower: "tier \(risk.tier.name) at most"
                case .observe, .deny: risk.action.rawValue
                }
            lines.append("risk metric \(risk.max) at most, above it \(action)")
        }
        return lines
    }

    private static func words(_ action: ShortfallAction, _ limit: String?) -> String {
        limit.map { "limit \($0)" } ?? action.rawValue
    }

    private static func categories(_ categories: AppCategories) -> String {
        let names = ValidationCategory.allCases
            .filter { categories.contains($0.rawValue) }.map(\.name)
        let ending = categories.takesMissing ? ", or not told" : ""
        return "categories \(names.joined(separator: ", "))\(ending)"
    }

    private static func words(_ versions: VersionRule) -> [String] {
        func words(_ bounds: VersionBounds) -> String {
            let grace = bounds.grace.map { ", refused before \($0.text)" } ?? ""
            return "\(bounds.min.text) at least\(grace)"
        }
        var lines = versions.common.map { ["bundle version " + words($0)] } ?? []
        for (id, bounds) in versions.apps.sorted(by: { $0.key < $1.key }) {
            lines.append("bundle version of \(id) " + words(bounds))
        }
        lines.append("without a bundle version \(versions.missing.rawValue)")
        return lines
    }
}
