import AppAttest
import Attestation

/// Declares `apps`.
enum AppReader {
    static var kind: Kind<[AppIdentity]> {
        .list(.section(form), by: \.id, skipsFaulty: true) {
            "app \(quoted($0.id)) is listed twice"
        }
        // Settings that are read later may name them.
        .checked { $0.context.apps = $1 }
    }

    private static var form: Form<AppIdentity> {
        let start = AppIdentity(id: "", environments: [.production])
        let environments = Kind<[AttestEnvironment]>.list(
            .word, empty: "is empty: no key of this app could enrol")
        let macOS = Form(start) {
            Setting(
                "require_full_security", \.requiresMacFullSecurity, .trueFalse,
                "true: a Mac may enrol only with System Integrity Protection and Full Security "
                    + "(macOS 27 and later). Other possible Macs get attestation_invalid. Other "
                    + "devices and enrolled keys are not affected.")
        }
        return Form(start) {
            Setting(
                "id", \.self,
                of: { app in
                    appID.map({ app.with(id: $0) }, from: { $0.id })
                },
                required: true, "The App ID.")
            Setting(
                "environments", \.self,
                of: { app in
                    environments.map(
                        { app.with(environments: Set($0)) },
                        from: { app in AttestEnvironment.allCases.filter(app.environments.contains)
                        })
                },
                "production: App Store, TestFlight and enterprise builds. development: builds run "
                    + "from Xcode, which anyone in your team can change.")
            Setting("macos", group: macOS, "What is required of Macs.")
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

extension AppIdentity {
    fileprivate func with(
        id: String? = nil, environments: Set<AttestEnvironment>? = nil
    ) -> AppIdentity {
        var app = AppIdentity(
            id: id ?? self.id, environments: environments ?? self.environments)
        app.requiresMacFullSecurity = requiresMacFullSecurity
        return app
    }
}
