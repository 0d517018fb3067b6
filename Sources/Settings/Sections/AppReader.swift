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
        return apps
    }

    private static func app(_ section: inout Section) -> AppIdentity? {
        let id = section.required("id").flatMap(appID)
        var environments: [AttestEnvironment] = [.production]
        section.set("environments", &environments) { field in
            guard let found = field.list({ $0.choice(AttestEnvironment.self) }) else { return nil }
            if found.isEmpty { field.error("is empty: no key of this app could enrol") }
            return found
        }
        var requiresFullSecurity = false
        if let field = section.field("macos") {
            _ = field.section { section in
                section.set("require_full_security", &requiresFullSecurity) {
                    $0.choice([("true", true), ("false", false)])
                }
            }
        }
        return id.map { id in
            var app = AppIdentity(
                id: id, environments: Set(environments), rpIDHash: SHA256.hash(Array(id.utf8)))
            app.requiresMacFullSecurity = requiresFullSecurity
            return app
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
