import AppAttest
import Attestation

/// Declares `apps`: an entry is an app of Apple's platforms by its `id`, or an Android app by its
/// package name.
struct AppReader {
    private var id: String?
    private var environments: Set<AttestEnvironment> = [.production]
    private var requiresMacFullSecurity = false
    var android = AndroidAppEntry()

    static var kind: Kind<[AppIdentity]> {
        .list(app, by: \.id, skipsFaulty: true, meant: "id") {
            "app \(quoted($0.id)) is listed twice"
        }
        // Settings that are read later may name them.
        .checked { $0.context.apps = $1 }
    }

    private static var app: Kind<AppIdentity> {
        Kind.section(form, meant: "id") { section, entry in
            if section.field("android") != nil {
                section.refuse(["id", "macos"], "is not for Android apps")
                _ = section.required("signing_digests")
            } else {
                _ = section.required("id", advice: ", or \"android\" for an Android app")
                section.refuse(AndroidAppEntry.keys, "is for Android apps only")
            }
        }.map {
            $0.identity
        } from: {
            AppReader($0)
        }
    }

    private var identity: AppIdentity? {
        if let app = android.identity(environments) { return app }
        guard let id else { return nil }
        return AppIdentity(
            id: id, environments: environments, requiresMacFullSecurity: requiresMacFullSecurity)
    }

    private init(_ app: AppIdentity) {
        environments = app.environments
        if let entry = AndroidAppEntry(app) {
            android = entry
        } else {
            id = app.id
            requiresMacFullSecurity = app.requiresMacFullSecurity
        }
    }

    private init() {}

    private static var form: Form<AppReader> {
        let macOS = Form(AppReader()) {
            Setting(
                "require_full_security", \.requiresMacFullSecurity, .trueFalse,
                "true: a Mac may enrol only with System Integrity Protection and Full Security "
                    + "(macOS 27 and later). Other possible Macs get attestation_invalid. Other "
                    + "devices and enrolled keys are not affected.")
        }
        return Form(AppReader()) {
            Setting("id", optional: \.id, appID, "The App ID of an app for Apple's platforms.")
            AndroidAppEntry.settings
            Setting(
                "environments", \.environments,
                Kind<[AttestEnvironment]>.list(
                    .word, empty: "is empty: no key of this app could enrol"
                ).map(
                    { Set($0) },
                    from: { set in AttestEnvironment.allCases.filter(set.contains) }),
                "production: App Store, TestFlight and enterprise builds. development: builds run "
                    + "from Xcode, which anyone in your team can change. An Android app that lists "
                    + "the digest of debug builds should have development alone.")
            Setting(
                "macos", group: macOS, "What is required of Macs.",
                printed: { $0.android.package == nil })
        }
    }

    /// An App ID: ten characters of team id, a period, the bundle id (Apple, "Register an App ID").
    private static var appID: Kind<String> {
        let shape = Shape.text(
            "the team id, a period and the bundle id", pattern: "^[A-Z0-9]{10}[.]")
        return Kind(shape, text: \.self) { text throws(Fault) in
            let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard AppIdentity.isTeamID(parts[0]), parts.count == 2 else {
                throw Fault(
                    "does not begin with a team id (10 upper-case letters or digits) and a period: "
                        + "write TEAMID1234.com.example.app")
            }
            let labels = parts[1].split(separator: ".", omittingEmptySubsequences: false)
            let isBundle =
                parts[1].utf8.count <= 255
                && labels.allSatisfy { label in
                    !label.isEmpty
                        && label.utf8.allSatisfy { $0.isLetterOrDigit || $0.isOne(of: "-") }
                }
            guard isBundle else {
                throw Fault(
                    "does not end in a bundle id: letters, digits, hyphens and periods")
            }
            return text
        }
    }
}
