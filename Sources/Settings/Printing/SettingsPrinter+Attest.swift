import AppAttest
import Policy

extension SettingsPrinter {
    static func write(
        _ attest: AttestPolicy, _ rollout: RolloutPlan?, _ restrictions: RouteRestrictions,
        to yaml: inout YAMLText
    ) {
        yaml.entry("mode", attest.mode.rawValue)
        yaml.entry("client_data", attest.clientData.rawValue)
        yaml.entry("challenge", attest.challenge.rawValue)
        switch attest.replay {
        case .strict: yaml.entry("replay", "strict")
        case .durable: yaml.entry("replay", "durable")
        case .window(let size): yaml.entry("replay", "{ window: \(size) }")
        }
        RolloutReader.write("rollout", attest.rolloutPercent, rollout, to: &yaml)
        let accepted = AttestReader.proofs.filter { attest.accept.contains($0.value) }
        yaml.entry("accept", list: accepted.map(\.name))
        let limits = restrictions.limits
        ShortfallReader.write("on_missing", attest.onMissing.rawValue, limits.missing, to: &yaml)
        ShortfallReader.write("on_invalid", attest.onInvalid.rawValue, limits.invalid, to: &yaml)
        ShortfallReader.write(
            "on_store_failure", attest.onStoreFailure.rawValue, limits.storeFailure, to: &yaml)
        yaml.entry("min_tier", attest.minTier.name.description)
        ShortfallReader.write(
            "on_lower_tier", attest.onLowerTier.rawValue, limits.lowerTier, to: &yaml)
        write(restrictions, to: &yaml)
        if let risk = restrictions.risk {
            yaml.mapping("risk") { yaml in
                yaml.entry("max", "\(risk.max)")
                if risk.action == .lower {
                    yaml.mapping("action") { $0.entry("tier", risk.tier.name.description) }
                } else {
                    ShortfallReader.write("action", risk.action.rawValue, limits.risk, to: &yaml)
                }
            }
        }
        if attest.clientData == .body {
            yaml.entry("challenge_member", text: attest.challengeMember)
            if let member = attest.keyIDMember { yaml.entry("key_id_member", text: member) }
        }
    }

    private static func write(_ restrictions: RouteRestrictions, to yaml: inout YAMLText) {
        switch restrictions.apps {
        case .unnamed: break
        case .any: yaml.entry("apps", "any")
        case .named(let ids, _): yaml.entry("apps", list: ids.sorted())
        }
        if restrictions.environments != .all {
            let environments = AttestEnvironment.allCases.filter {
                restrictions.environments.contains($0.asSet)
            }
            yaml.entry("environments", list: environments.map(\.rawValue))
        }
        let categories = restrictions.categories
        if categories != .all {
            let named = ValidationCategory.allCases.filter { categories.contains($0.rawValue) }
            yaml.mapping("categories") { yaml in
                yaml.entry(
                    categories.takesMissing ? "only_or_missing" : "only", list: named.map(\.name))
            }
        }
        guard let versions = restrictions.versions else { return }
        yaml.mapping("min_bundle_version") { yaml in
            if let bounds = versions.common { write(bounds, to: &yaml) }
            yaml.entry("missing", versions.missing.rawValue)
            guard !versions.apps.isEmpty else { return }
            yaml.mapping("apps") { yaml in
                for (id, bounds) in versions.apps.sorted(by: { $0.key < $1.key }) {
                    yaml.mapping(YAMLText.scalar(id)) { write(bounds, to: &$0) }
                }
            }
        }
    }

    private static func write(_ bounds: VersionBounds, to yaml: inout YAMLText) {
        yaml.entry("min", text: bounds.min.text)
        if let grace = bounds.grace { yaml.entry("grace", text: grace.text) }
    }
}
