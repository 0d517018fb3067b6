import Attestation
import Policy

/// Declares `min_bundle_version` of a route.
enum BundleVersionReader {
    /// The bounds of one app, or of all, as they are read.
    private struct Bounds {
        var min: BundleVersion?
        var grace: BundleVersion?

        init(_ bounds: VersionBounds? = nil) { (min, grace) = (bounds?.min, bounds?.grace) }

        var read: VersionBounds? { min.map { VersionBounds(min: $0, grace: grace) } }
    }

    /// A rule as it is read.
    private struct Rule {
        var common = Bounds()
        var missing = VersionRule.Unknown.deny
        var apps: [String: VersionBounds] = [:]
    }

    static var kind: Kind<VersionRule> {
        let form = Form(Rule()) {
            bounds(\.common)
            Setting(
                "missing", \.missing, .word,
                "If a system does not report the version.")
            Setting("apps", \.apps, apps, "Versions of single apps, by App ID.")
        }
        let rule = Kind.section(form) { section, rule in
            check(&section, &rule.common)
            if section.isFaulty("apps") { section.fail() }
        }.map { read -> VersionRule? in
            var rule = VersionRule(common: read.common.read)
            (rule.missing, rule.apps) = (read.missing, read.apps)
            return rule
        } from: {
            Rule(common: Bounds($0.common), missing: $0.missing, apps: $0.apps)
        }
        return version.map { VersionRule(common: VersionBounds(min: $0)) }
            .or(rule)
    }

    @FormBuilder<Root>
    private static func bounds<Root>(_ path: WritableKeyPath<Root, Bounds>) -> [Setting<Root>] {
        Setting(
            "min", optional: path.appending(path: \.min), version,
            "Older ones are served, counted and told to update.")
        Setting(
            "grace", optional: path.appending(path: \.grace), version,
            "Older ones are refused. If left out: min.")
    }

    private static func check(_ section: inout Section, _ bounds: inout Bounds) {
        if section.isFaulty("min") || section.isFaulty("grace") { return section.fail() }
        guard let min = bounds.min else {
            return section.refuse(["grace"], "is used with min only")
        }
        if let grace = bounds.grace, min.order(of: grace.text) != .before {
            section.field("grace")?.error("\(quoted(grace.text)) is not before min: leave it out")
            section.fail()
        }
    }

    private static var apps: Kind<[String: VersionBounds]> {
        let mapping = Kind.section(Form(Bounds()) { bounds(\Bounds.self) }) { section, bounds in
            check(&section, &bounds)
            _ = section.required("min")
        }.map({ $0.read }, from: { Bounds($0) })
        let either = version.map { VersionBounds(min: $0) }.or(mapping)
        return Kind(.named("APP_ID", either.shape)) { field in
            guard let fields = field.namedFields("APP_ID", of: either.shape) else { return nil }
            var found: [String: VersionBounds] = [:]
            let known = field.context.apps.map(\.id)
            for field in fields {
                if !known.isEmpty, !known.contains(field.key) {
                    let ending = Suggestion.ending(for: field.key, among: known, listing: true)
                    field.error("no app has this id\(ending)", at: field.keyMark)
                }
                found[field.key] = either.read(field)
            }
            return found.count == fields.count ? found : nil
        } yaml: { apps in
            apps.isEmpty
                ? .absent
                : .mapping(
                    apps.sorted { $0.key < $1.key }.map { YAMLPair($0, either.yaml($1)) })
        }
    }

    /// Reports apps without a version, because the route would take every version of them.
    static func checkNamed(_ rule: VersionRule, _ field: Field, _ taken: [AppIdentity]) {
        guard !rule.apps.isEmpty else {
            return field.error("needs min, or apps with a version for each")
        }
        for app in taken where rule.apps[app.id] == nil {
            field.error(
                "has no version for \(quoted(app.id)): add it to apps, or min for all others")
        }
    }

    private static var version: Kind<BundleVersion> {
        let form = "1 to \(BundleVersion.numberCountMax) numbers with periods between them"
        return Kind(.text(form), text: \.text) { text throws(Fault) in
            if let version = BundleVersion(text) { return version }
            throw Fault("is not a version: \(form), as 4.2.1")
        }
    }
}
