import AppAttest
import Attestation
import Policy
import Settings

/// The demands of a route beside a proof, and the action on requests that fall short, in words.
enum RestrictionLines {
    static func lines(of route: Route) -> [String] {
        let attest = route.attest
        let limits = attest.limits
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
        if let apps = attest.apps.only {
            lines.append("apps \(apps.sorted().joined(separator: ", "))")
        }
        if attest.environments != .all {
            let names = AttestEnvironment.allCases
                .filter { attest.environments.contains($0.asSet) }.map(\.rawValue)
            lines.append("environments \(names.joined(separator: ", "))")
        }
        if attest.categories != .all { lines.append(categories(attest.categories)) }
        if let versions = attest.versions { lines += words(versions) }
        if let risk = attest.risk {
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
