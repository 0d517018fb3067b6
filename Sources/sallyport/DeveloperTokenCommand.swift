import Attestation
import Bytes
import EventLoop
import GatewayTokens
import JSON
import KeyStore
import Policy
import Settings

/// `sallyport developer-token`: admits a machine without App Attest for a while.
enum DeveloperTokenCommand {
    static let usage = """
        usage: sallyport developer-token [-c FILE] --name NAME --ttl DURATION [OPTION...]

          --name NAME     its name in logs, metrics and developer_tokens.revoked
          --ttl DURATION  its lifetime, such as 30d; at most developer_tokens.max_ttl
          --routes A,B    the routes that accept it (default: all that accept such tokens)
          --tier TIER     what it counts for: token (default) or none
          --app APP_ID    the app that it stands in for, if routes accept only some apps
          --json          print one JSON object with the token, its id and its expiry

        Prints the token on standard output, and its id and expiry on standard error. The audit log
        has its name and id. Send it in the header of session tokens. Only routes whose
        attest.accept names developer accept it.
        """

    private static let options = [
        "-c", "--config", "--name", "--ttl", "--routes", "--tier", "--app",
    ]

    static func main(_ words: [String]) {
        let arguments = Arguments(words, options: options, flags: ["--json"], usage: usage)
        arguments.refuseOperands(usage: usage)
        let path = ConfigurationFile.path(arguments, usage: usage)
        let name = arguments.required("--name", usage: usage)
        guard DeveloperTokenSettings.isName(name) else {
            Exit.usage("--name: 1 to 64 letters, digits, periods, hyphens and underscores")
        }
        let ttl = arguments.required("--ttl", usage: usage)
        guard let worth = DeveloperToken.Worth(rawValue: arguments.value("--tier") ?? "token")
        else { Exit.usage("--tier: token or none") }
        let settings = ConfigurationFile.loadOrExit(path).settings
        let life = life(ttl, settings)
        let routes = routes(arguments.value("--routes"), settings)
        let now = WallClock.now().seconds
        let token = DeveloperToken(
            name: name, id: DeveloperToken.makeID(), issuedAt: now, expiresAt: now + life,
            audience: routes, worth: worth, appID: appID(arguments.value("--app"), settings))
        warn(token, settings)
        do {
            let keys = try SecretKeyFiles.challengeKeys(for: settings)
            guard let sealer = DeveloperTokenSealer(keys: keys) else {
                Exit.failed("the challenge keys are not 32 bytes each")
            }
            try note(token, settings)
            let text = String(decoding: sealer.token(of: token), as: UTF8.self)
            guard !arguments.wantsJSON else {
                return MachineOutput.print { writer in
                    writer.member("token", string: text)
                    writer.member("name", string: name)
                    writer.member("id", string: "\(token.id)")
                    writer.member("expires_at", string: RFC3339.text(token.expiresAt))
                }
            }
            Console.complain(
                "developer token \(name), id \(token.id), until \(RFC3339.text(token.expiresAt))")
            Console.print(text)
        } catch {
            Exit.failed("\(error)")
        }
    }

    /// Notes the token in the audit log. There is no token without an entry, once there is a
    /// registry.
    private static func note(_ token: DeveloperToken, _ settings: Settings) throws {
        if case .sqlite(let path) = settings.registry, !File.exists(path) {
            return Console.complain(
                "warning: there is no registry yet, so no audit log has this token")
        }
        let registry = try Stores.administration(settings, by: .ofCommand())
        let routes = token.audience.isEmpty ? "all" : token.audience.joined(separator: ",")
        try registry.append(
            AuditNote(
                .makeDeveloperToken, token.name, outcome: "done",
                detail: "id \(token.id), until \(RFC3339.text(token.expiresAt)), routes \(routes)"))
    }

    private static func life(_ text: String, _ settings: Settings) -> Int64 {
        let lifeMax = settings.developerTokens.lifeMax
        guard let life = DeveloperTokenSettings.life(text) else {
            Exit.usage("--ttl: \(text) is not a duration such as 30m, 1d or 30d")
        }
        guard life >= .seconds(1), life <= lifeMax else {
            Exit.usage(
                "--ttl: \(text) is outside 1s to \(lifeMax.components.seconds / 60)m "
                    + "(developer_tokens.max_ttl)")
        }
        return life.components.seconds
    }

    private static func routes(_ text: String?, _ settings: Settings) -> [String] {
        guard let text else { return [] }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard names.count <= SessionTokenSealer.audienceCountMax else {
            Exit.usage("--routes: more than \(SessionTokenSealer.audienceCountMax)")
        }
        for name in names {
            guard settings.developerRoutes.contains(name) else {
                Exit.usage("--routes: no route \(name) accepts developer tokens (attest.accept)")
            }
        }
        return names
    }

    private static func appID(_ text: String?, _ settings: Settings) -> String? {
        guard let text else { return nil }
        guard settings.apps.contains(where: { $0.id == text }) else {
            Exit.usage("--app: no app \(text) is configured (apps)")
        }
        return text
    }

    private static func warn(_ token: DeveloperToken, _ settings: Settings) {
        for route in settings.routes
        where route.attest.accept.contains(.developer)
            && (token.audience.isEmpty || token.audience.contains(route.name))
        {
            guard let apps = route.attest.apps.only,
                token.appID.map(apps.contains) != true
            else { continue }
            Console.complain(
                "warning: route \(route.name) takes \(apps.sorted().joined(separator: ", ")) only "
                    + "(--app)")
        }
        if settings.developerRoutes.isEmpty {
            Console.complain(
                "warning: this token opens nothing: no route's attest.accept names developer")
        }
        if settings.developerTokens.revoked.contains(token.name) {
            Console.complain("warning: developer_tokens.revoked names \(token.name)")
        }
    }
}
