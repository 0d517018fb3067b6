import AppAttest
public import Attestation
public import Policy

/// Declares the demands of a route on requests with a good proof.
enum RestrictionReader {
    @FormBuilder<Route>
    static var settings: [Setting<Route>] {
        Setting(
            "apps", \.attest.apps, apps,
            "The apps whose keys and tokens count, or any. Required with several apps. A "
                + "DeviceCheck token needs all apps of its team.")
        Setting(
            "environments", \.attest.environments, environments,
            "The environments of keys, among those of the app in apps."
        ) { field, route in
            let apps = takenApps(route, field)
            let taken = KeyEnvironments(apps.flatMap(\.environments).map(\.asSet))
            if !apps.isEmpty, route.attest.environments.isDisjoint(with: taken) {
                field.error("no app takes keys of these environments: no request would pass")
            }
        }
        Setting(
            "categories", \.attest.categories, categories,
            "How the app got onto the device. enterprise includes ad hoc.")
        Setting(
            "min_bundle_version", optional: \.attest.versions, BundleVersionReader.kind,
            "The app's version (CFBundleVersion). A version alone is min."
        ) { field, route in
            if let rule = route.attest.versions, rule.common == nil {
                BundleVersionReader.checkNamed(rule, field, takenApps(route, field))
            }
        }
        Setting(
            "risk", optional: \.attest.limitedRisk, LimitedRisk.kind,
            "Apple's risk metric. Keys without one pass.")
    }

    /// Checks that the demands beside a proof fit the mode.
    static func check(_ section: inout Section, mode: AttestMode) {
        if mode == .off {
            section.refuse(
                settings.map(\.key), "is used with mode observe or enforce: off looks at nothing")
        } else if section.field("apps") == nil, let field = section.field("mode"),
            field.context.apps.count > 1
        {
            // With several apps, each route must name those that it takes. No default is safe.
            field.error(
                "with several apps configured, apps is needed too: the ids of those whose requests "
                    + "this route takes, or any")
        }
    }

    /// The configured apps that a route takes.
    private static func takenApps(_ route: Route, _ field: Field) -> [AppIdentity] {
        field.context.apps.filter { route.attest.apps.only?.contains($0.id) ?? true }
    }

    private static var apps: Kind<RouteApps> {
        let ids = Kind<[String]>.list(
            Kind.text(.text("App ID of apps")) { field in
                // If no app is valid, that has been reported at apps.
                field.name(among: field.context.apps.map(\.id)) { "\($0): no app has this id" }
            }, empty: "is empty: no request would pass")
        let named = Kind<RouteApps>(ids.shape) { field in
            ids.read(field).map { ids in
                .named(Set(ids), areAll: field.context.apps.allSatisfy { ids.contains($0.id) })
            }
        } yaml: { apps in
            guard case .named(let named, _) = apps else { return .absent }
            return ids.yaml(named.sorted())
        }
        return .words([("any", .any)], or: named)
    }

    private static var environments: Kind<KeyEnvironments> {
        Kind<KeyEnvironments>.options(
            AttestEnvironment.allCases.map { ($0.rawValue, $0.asSet) },
            empty: "is empty: no request would pass"
        ).printed { $0 != .all }
    }

    private static var categories: Kind<AppCategories> {
        func listed(orMissing: Bool) -> Kind<AppCategories> {
            let all = ValidationCategory.allCases.map { ($0.name, $0.rawValue) }
            return Kind<[UInt32]>.list(
                .words(all), empty: "is empty: name the categories that are let in"
            ).map {
                AppCategories($0, orMissing: orMissing)
            } from: { categories in
                let numbers = all.map(\.1).filter { categories.contains($0) }
                return categories.takesMissing == orMissing && !numbers.isEmpty ? numbers : nil
            }
        }
        let form = Form(AppCategories([], orMissing: false)) {
            Setting(
                "only", \.self, listed(orMissing: false),
                "Only these. Systems that do not report a category are refused.")
            Setting(
                "only_or_missing", \.self, listed(orMissing: true),
                "These, and systems that do not report a category.")
        }
        return Kind.section(form) { section, _ in
            if (section.field("only") == nil) == (section.field("only_or_missing") == nil) {
                section.error("needs one of only, only_or_missing")
            }
        }.printed { $0 != .all }
    }
}

/// A rule on Apple's metric, with the rate limit that its action may name.
private struct LimitedRisk {
    var rule = RiskRule(max: 0)
    var limit: String?

    static var kind: Kind<LimitedRisk> {
        .section(
            Form(LimitedRisk()) {
                Setting(
                    "max", \.max, .count(0...1_000_000, "Apple's metric is a number of keys"),
                    required: true, "The highest value that passes.")
                Setting(
                    "action", \.self, of: { action(of: $0) },
                    "What happens above max. observe: it is counted. deny: risk_too_high. { tier: "
                        + "TIER }: the proof is worth at most device_check or token.")
            })
    }

    private var max: Int {
        get { Int(rule.max) }
        set { rule.max = UInt32(clamping: newValue) }
    }

    private static func action(of risk: LimitedRisk) -> Kind<LimitedRisk> {
        func with(_ action: RiskRule.Action, limit: String? = nil) -> LimitedRisk {
            var risk = risk
            (risk.rule.action, risk.limit) = (action, limit)
            return risk
        }
        let limited = LimitedAction<RiskRule.Action>.kind(
            [.observe, .deny], limited: .limit, allowingKey: true
        ).map(
            { with($0.action, limit: $0.limit) },
            from: { LimitedAction(action: $0.rule.action, limit: $0.limit) })
        let lowered = Kind.section(
            "tier", .words([TrustTier.deviceCheck, .token].map { ($0.name.description, $0) }),
            "What the proof is worth then."
        ).map { tier -> LimitedRisk? in
            var risk = with(.lower)
            risk.rule.tier = tier
            return risk
        } from: {
            $0.rule.action == .lower ? $0.rule.tier : nil
        }
        return limited.or(lowered, if: { $0.node("tier") != nil })
    }
}

extension RoutePolicy {
    fileprivate var limitedRisk: LimitedRisk? {
        get { risk.map { LimitedRisk(rule: $0, limit: limits.risk) } }
        set { (risk, limits.risk) = (newValue?.rule, newValue?.limit) }
    }
}

extension AttestEnvironment {
    /// The set of it alone.
    public var asSet: KeyEnvironments {
        switch self {
        case .production: .production
        case .development: .development
        }
    }
}
