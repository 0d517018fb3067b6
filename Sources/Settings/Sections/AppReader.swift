import AppAttest
import Crypto

/// Reads `apps`.
enum AppReader {
    static func apps(_ field: Field) -> [AppIdentity]? {
        guard let elements = field.list() else { return nil }
        var apps: [AppIdentity] = []
        for element in elements {
            guard let app = element.section(app) ?? nil else { continue }
            if apps.contains(where: { $0.id == app.id }) {
                element.error("app \(quoted(app.id)) is listed twice")
            } else {
                apps.append(app)
            }
        }
        // Whatever is read later may name them.
        field.context.apps = apps
        return apps
    }

    private static func app(_ section: inout Section) -> AppIdentity? {
        let id = section.required("id").flatMap(appID)
        var read = form.start
        form.read(&section, into: &read)
        return id.map { id in
            var app = AppIdentity(
                id: id, environments: read.environments, rpIDHash: SHA256.hash(Array(id.utf8)))
            app.requiresMacFullSecurity = read.requiresMacFullSecurity
            return app
        }
    }

    static var form: Form<AppIdentity> {
        let environments = Kind<[AttestEnvironment]>.environments(
            "is empty: no key of this app could enrol")
        let start = AppIdentity(id: "", environments: [.production], rpIDHash: SHA256.hash([]))
        let macOS = Form(start) {
            Setting(
                "require_full_security", \.requiresMacFullSecurity, .trueFalse,
                "true: only Macs with System Integrity Protection and Full Security may enrol "
                    + "(macOS 27 and later); anything else that may be a Mac is refused.")
        }
        return Form(start) {
            Setting(
                "id", .text("team id, a period, bundle id", pattern: "^[A-Z0-9]{10}[.]"),
                required: true, "The App ID."
            ) { app, yaml in
                yaml.entry("id", text: app.id)
            }
            Setting(
                "environments", environments.shape,
                "production: App Store, TestFlight, enterprise. development: builds run from "
                    + "Xcode, which anyone in your team can change."
            ) { section, app in
                guard let read = section.field("environments").flatMap(environments.read) else {
                    return
                }
                app = AppIdentity(id: "", environments: Set(read), rpIDHash: start.rpIDHash)
            } write: { app, yaml in
                let listed = AttestEnvironment.allCases.filter(app.environments.contains)
                environments.write("environments", listed, &yaml)
            }
            Setting("macos", group: macOS, "What is demanded of Macs.")
        }
    }

    /// An App ID: ten characters of team id, a period, the bundle id (Apple, "Register an App ID").
    private static func appID(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        let parts = text.value.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard AppIdentity.isTeamID(parts[0]), parts.count == 2 else {
            field.error(
                "\(text.shown) does not begin with a team id (10 upper-case letters or digits) "
                    + "and a period: write TEAMID1234.com.example.app")
            return nil
        }
        let labels = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        let isBundle =
            parts[1].utf8.count <= 255
            && labels.allSatisfy { label in
                !label.isEmpty && label.utf8.allSatisfy(isBundleByte)
            }
        guard isBundle else {
            field.error(
                "\(text.shown) does not end in a bundle id: letters, digits, hyphens and periods")
            return nil
        }
        return text.value
    }

    private static func isBundleByte(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            || byte == 0x2D
    }
}
