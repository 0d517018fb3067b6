public import AppAttest
public import Policy
import YAML

/// Reads what a route demands of a request whose proof is good.
enum RestrictionReader {
    static var form: Form<PlacedPolicy> {
        Form(PlacedPolicy()) {
            Setting(
                "apps", \.restrictions.apps, apps,
                "Whose keys, session and developer tokens. Needed if several apps are configured.")
            Setting(
                "environments", .list(Kind<AttestEnvironment>.word.shape),
                "Environments that the key may be from, of those that its app has in apps."
            ) { section, placed in
                let apps = placed.restrictions.apps
                section.set("environments", &placed.restrictions.environments) {
                    environments($0, of: apps)
                }
            } write: { placed, yaml in
                let allowed = placed.restrictions.environments
                guard allowed != .all else { return }
                let listed = AttestEnvironment.allCases.filter { allowed.contains($0.asSet) }
                yaml.entry("environments", list: listed.map(\.rawValue))
            }
            Setting(
                "categories", \.restrictions.categories, categories,
                "How the app came onto the device.")
            Setting(
                "min_bundle_version", versionShape,
                "The app's version (CFBundleVersion). \"120\" alone is { min: \"120\" }."
            ) { section, placed in
                let apps = placed.restrictions.apps
                placed.restrictions.versions = section.field("min_bundle_version").flatMap {
                    versions($0, of: apps)
                }
            } write: { placed, yaml in
                guard let rule = placed.restrictions.versions else { return }
                yaml.mapping("min_bundle_version") { write(rule, to: &$0) }
            }
            Setting(
                "risk", riskShape, "Apple's risk metric of the key, if it is known."
            ) { section, placed in
                guard let read = section.field("risk").flatMap(risk) else { return }
                (placed.restrictions.risk, placed.restrictions.limits.risk) = read
            } write: { placed, yaml in
                guard let rule = placed.restrictions.risk else { return }
                yaml.mapping("risk") { write(rule, placed.restrictions.limits.risk, to: &$0) }
            }
        }
    }

    /// What is demanded beside a proof fits the mode.
    static func check(_ section: inout Section, mode: AttestMode) {
        if mode == .off {
            for key in form.keys {
                guard let field = section.field(key) else { continue }
                field.error(
                    "is used with mode observe or enforce: off looks at nothing",
                    at: field.keyMark)
            }
        } else if section.field("apps") == nil, let field = section.field("mode"),
            field.context.apps.count > 1
        {
            // With several apps each route says whose requests it takes: that is never guessed.
            field.error(
                "with several apps configured, apps is needed too: the ids of those whose requests "
                    + "this route takes, or any")
        }
    }

    private static var apps: Kind<RouteApps> {
        Kind(.either([.words(["any"]), .list(.text("App ID of apps"))]), read: apps) {
            key, apps, yaml in
            switch apps {
            case .unnamed: break
            case .any: yaml.entry(key, "any")
            case .named(let ids, _): yaml.entry(key, list: ids.sorted())
            }
        }
    }

    private static func apps(_ field: Field) -> RouteApps? {
        if case .scalar("any", _) = field.node.kind { return .any }
        let known = field.context.apps.map(\.id)
        let listed = field.list { field -> String? in
            guard let text = field.text() else { return nil }
            // Without any that is right, what is wrong has been reported there.
            guard known.isEmpty || known.contains(text.value) else {
                let ending = Suggestion.ending(for: text.value, among: known, listing: true)
                field.error("\(text.shown): no app has this id\(ending)")
                return nil
            }
            return text.value
        }
        guard let listed else { return nil }
        guard !listed.isEmpty else {
            field.error("is empty: no request would pass")
            return nil
        }
        return .named(Set(listed), areAll: Set(known).isSubset(of: listed))
    }

    /// The configured apps that a route takes.
    private static func takenApps(_ taken: RouteApps, _ field: Field) -> [AppIdentity] {
        field.context.apps.filter { taken.only?.contains($0.id) ?? true }
    }

    private static func environments(_ field: Field, of route: RouteApps) -> KeyEnvironments? {
        let names = AttestEnvironment.allCases.map { ($0.rawValue, $0.asSet.rawValue) }
        guard let listed = field.list({ $0.choice(names) }) else { return nil }
        let set = KeyEnvironments(listed.map(KeyEnvironments.init(rawValue:)))
        guard !set.isEmpty else {
            field.error("is empty: no request would pass")
            return nil
        }
        let apps = takenApps(route, field)
        let taken = KeyEnvironments(apps.flatMap(\.environments).map(\.asSet))
        if !apps.isEmpty, set.isDisjoint(with: taken) {
            field.error("no app takes keys of these environments: no request would pass")
        }
        return set
    }

    private static var categories: Kind<AppCategories> {
        let listed = Shape.list(.words(names.map(\.0)))
        let shape = Shape.section([
            Entry("only", listed, "Those; systems that do not tell are refused."),
            Entry("only_or_missing", listed, "Those, and systems that do not tell."),
        ])
        return Kind(shape, read: categories) { key, categories, yaml in
            guard categories != .all else { return }
            let named = ValidationCategory.allCases.filter { categories.contains($0.rawValue) }
            let form = categories.takesMissing ? "only_or_missing" : "only"
            yaml.mapping(key) { $0.entry(form, list: named.map(\.name)) }
        }
    }

    private static func categories(_ field: Field) -> AppCategories? {
        let categories = field.section { section -> AppCategories? in
            let (only, orMissing) = (section.field("only"), section.field("only_or_missing"))
            guard let listed = only ?? orMissing, only == nil || orMissing == nil else {
                field.error("needs one of only, only_or_missing")
                return nil
            }
            guard let numbers = listed.list({ $0.choice(names) }) else { return nil }
            guard !numbers.isEmpty else {
                listed.error("is empty: name the categories that are let in")
                return nil
            }
            return AppCategories(numbers, orMissing: only == nil)
        }
        return categories ?? nil
    }

    private static let names = ValidationCategory.allCases.map { ($0.name, $0.rawValue) }

    private static var riskMax: Kind<Int> {
        .count(0...1_000_000, "Apple's metric is a number of keys")
    }

    private static var riskShape: Shape {
        let tier = Entry(
            "tier", .words(["device_check", "token"]), required: true,
            "Worth no more than that, for the upstream and for min_tier.")
        return .section([
            Entry("max", riskMax.shape, required: true, "The highest good value."),
            Entry(
                "action", .action(["observe", "deny"], [tier]), standard: "observe",
                "What becomes of a request above it: counted, refused, forwarded within a rate "
                    + "limit, or worth less."),
        ])
    }

    private static func write(_ rule: RiskRule, _ limit: String?, to yaml: inout YAMLText) {
        yaml.entry("max", "\(rule.max)")
        if rule.action == .lower {
            yaml.mapping("action") { $0.entry("tier", rule.tier.name.description) }
        } else {
            ShortfallReader.write("action", rule.action.rawValue, limit, to: &yaml)
        }
    }

    private static func risk(_ field: Field) -> (RiskRule, limit: String?)? {
        let read = field.section { section -> (RiskRule, limit: String?)? in
            let max = section.required("max").flatMap(riskMax.read)
            var rule = RiskRule(max: UInt32(clamping: max ?? 0))
            var limit: String?
            if let field = section.field("action") { limit = riskAction(field, &rule) }
            return max == nil ? nil : (rule, limit)
        }
        return read ?? nil
    }

    /// Returns the name of the rate limit, where it is one.
    private static func riskAction(_ field: Field, _ rule: inout RiskRule) -> String? {
        if field.isMapping(with: "tier") {
            let tiers = [TrustTier.deviceCheck, .token].map { ($0.name.description, $0) }
            let tier = field.section { $0.required("tier").flatMap { $0.choice(tiers) } }
            (rule.action, rule.tier) = (.lower, (tier ?? nil) ?? .token)
            return nil
        }
        let words = [RiskRule.Action.observe, .deny].map { ($0.rawValue, $0) }
        let read = ShortfallReader.action(field, words, limited: .limit, allowingKey: true)
        if let read { rule.action = read.action }
        return read?.limit
    }

    // MARK: versions

    private static var versionShape: Shape {
        let version = Shape.text(
            "version: 1 to \(BundleVersion.numberCountMax) numbers with periods between them")
        let bounds = [
            Entry("min", version, "Before it: served, counted and told to update."),
            Entry("grace", version, "Before it: refused. Left out: min."),
        ]
        let more = [
            Entry(
                "missing", Kind<VersionRule.Unknown>.word.shape, standard: "deny",
                "Of systems that do not tell the version."),
            Entry(
                "apps", .named("APP_ID", .either([version, .section(bounds)])),
                "Versions of single apps."),
        ]
        return .either([version, .section(bounds + more)])
    }

    private static func write(_ rule: VersionRule, to yaml: inout YAMLText) {
        if let bounds = rule.common { write(bounds, to: &yaml) }
        yaml.entry("missing", rule.missing.rawValue)
        guard !rule.apps.isEmpty else { return }
        yaml.mapping("apps") { yaml in
            for (id, bounds) in rule.apps.sorted(by: { $0.key < $1.key }) {
                yaml.mapping(YAMLText.scalar(id)) { write(bounds, to: &$0) }
            }
        }
    }

    private static func write(_ bounds: VersionBounds, to yaml: inout YAMLText) {
        yaml.entry("min", text: bounds.min.text)
        if let grace = bounds.grace { yaml.entry("grace", text: grace.text) }
    }

    private static func versions(_ field: Field, of route: RouteApps) -> VersionRule? {
        guard field.isMapping else {
            return version(field).map { VersionRule(common: VersionBounds(min: $0)) }
        }
        let rule = field.section { section -> VersionRule? in
            var rule = VersionRule()
            section.set("missing", &rule.missing) { $0.choice(VersionRule.Unknown.self) }
            let common = bounds(&section)
            let appsField = section.field("apps")
            guard let apps = appsField.map(byApp) ?? [:] else { return nil }
            rule.apps = apps
            switch common {
            case .faulty: return nil
            case .absent: checkNamed(rule, field, appsField, takenApps(route, field))
            case .good(let bounds): rule.common = bounds
            }
            return rule
        }
        return rule ?? nil
    }

    private enum ReadBounds {
        case absent
        case faulty
        case good(VersionBounds)
    }

    /// `min`, and `grace` where it is there.
    private static func bounds(_ section: inout Section) -> ReadBounds {
        let (minField, graceField) = (section.field("min"), section.field("grace"))
        guard let minField else {
            if let graceField { graceField.error("is used with min only", at: graceField.keyMark) }
            return .absent
        }
        guard let min = version(minField) else { return .faulty }
        guard let graceField else { return .good(VersionBounds(min: min)) }
        guard let grace = version(graceField) else { return .faulty }
        guard min.order(of: grace.text) == .before else {
            graceField.error("\(quoted(grace.text)) is not before min: leave it out")
            return .faulty
        }
        return .good(VersionBounds(min: min, grace: grace))
    }

    private static func byApp(_ field: Field) -> [String: VersionBounds]? {
        guard let fields = field.namedFields() else { return nil }
        var found: [String: VersionBounds] = [:]
        let known = field.context.apps.map(\.id)
        for field in fields {
            if !known.isEmpty, !known.contains(field.key) {
                let ending = Suggestion.ending(for: field.key, among: known, listing: true)
                field.error("no app has this id\(ending)", at: field.keyMark)
            }
            if field.isMapping {
                guard
                    case .good(let bounds)? = field.section({ section in
                        let read = bounds(&section)
                        if case .absent = read { field.error("required key \"min\" is missing") }
                        return read
                    })
                else { continue }
                found[field.key] = bounds
            } else {
                found[field.key] = version(field).map { VersionBounds(min: $0) }
            }
        }
        return found.count == fields.count ? found : nil
    }

    /// Without a version for all of them an app that was forgotten would be let in at any.
    private static func checkNamed(
        _ rule: VersionRule, _ field: Field, _ appsField: Field?, _ taken: [AppIdentity]
    ) {
        guard appsField != nil else {
            return field.error("needs min, or apps with a version for each")
        }
        for app in taken where rule.apps[app.id] == nil {
            field.error(
                "has no version for \(quoted(app.id)): add it to apps, or min for all others")
        }
    }

    private static func version(_ field: Field) -> BundleVersion? {
        guard let text = field.text() else { return nil }
        if let version = BundleVersion(text.value) { return version }
        field.error(
            "\(text.shown) is not a version: 1 to \(BundleVersion.numberCountMax) numbers with "
                + "periods between them, as 4.2.1")
        return nil
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
