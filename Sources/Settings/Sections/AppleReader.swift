import AppAttest
import AppleServices
import Crypto
import HTTPSClient
import TLS

/// Reads `apple`.
struct AppleReader {
    let apps: [AppIdentity]

    /// One is in use, one comes, one goes: a request that is refused tries them all.
    static let keysOfTeamMax = 4

    func apple(_ field: Field) -> AppleSettings? {
        field.section { section in
            let keyField = section.required("keys")
            let keys = keyField.flatMap(keys)
            let caField = section.field("ca")
            let read = caField.flatMap { $0.authorities(revokedIn: nil) }
            let authorities = caField == nil ? field.systemAuthorities() : read?.authorities
            // Read in any case: all that is wrong is told at once.
            var way = Self.way.start
            Self.way.read(&section, into: &way)
            guard let keys, let authorities else { return nil }
            var settings = AppleSettings(keys: keys, authorities: authorities)
            way.authoritiesPath = read?.path
            settings.way = way
            return settings
        } ?? nil
    }

    // MARK: the way

    private static var way: Form<AppleSettings.Way> {
        let shortest = Duration.milliseconds(100)
        return Form(AppleSettings.Way()) {
            Setting(
                "authorization", \.authorization, .word,
                "How the token stands in Authorization for receipts: bare as in Apple's sample, or "
                    + "bearer.")
            Setting(
                "proxy", \.proxy, proxy,
                "environment: https_proxy and no_proxy of the gateway's environment. Or a URL for "
                    + "all hosts: ${file:...} keeps a password out of the file.")
            Setting(
                "ca", shown: \.authoritiesPath, .path,
                "Authorities in PEM that alone may vouch for the hosts, and for a proxy that looks "
                    + "into TLS. Left out: those of the system.")
            Setting(
                "connect_timeout", \.connectTimeout,
                .duration(shortest, .seconds(60), "requests wait for it"),
                "For name, connection and TLS together.")
            Setting(
                "timeout", \.timeout, .duration(shortest, .seconds(120), "requests wait for it"),
                "For a whole request.")
            Setting(
                "in_flight_max", \.inFlightCountMax,
                .count(1...10_000, "each waiting request holds memory"),
                "Requests under way to each of the two services.")
            Setting("hosts", group: hosts, "Elsewhere than at Apple: for tests only.")
        }
    }

    private static var hosts: Form<AppleSettings.Way> {
        Form(AppleSettings.Way()) {
            Setting(
                "attestation_data", \.attestationData, hosts(.attestationData),
                "The service that exchanges receipts.")
            Setting(
                "device_check", \.deviceCheck, hosts(.deviceCheck), "The service of DeviceCheck.")
        }
    }

    private static func hosts(_ standard: AppleHosts) -> Kind<AppleHosts> {
        let base = Kind.text(.text("https://host or https://host:port"), base)
        let form = Form(standard) {
            Setting("production", \.production, base, "For keys of production.")
            Setting("development", \.development, base, "For keys of development.")
        }
        return .section(form) { field, hosts in
            if hosts != standard {
                field.warning("NOT APPLE'S: its answers are believed all the same")
            }
        }
    }

    private static var proxy: Kind<HTTPSConfiguration.Proxy> {
        let url = Shape.text(
            "URL: http (https, socks5, socks5h)://[user:password@]host:port", pattern: "://")
        return Kind(.either([.words(["environment", "off"]), url]), read: proxy) {
            key, proxy, yaml in
            switch proxy {
            case .environment: yaml.entry(key, "environment")
            case .direct: yaml.entry(key, "off")
            case .url(let url):
                yaml.entry(key, text: ProxyURL(url)?.shown ?? SettingsPrinter.passwordMask)
            }
        }
    }

    // MARK: how all is printed and described

    static func write(_ apple: AppleSettings, to yaml: inout YAMLText) {
        yaml.mapping("apple") { yaml in
            yaml.list("keys", apple.keys) { yaml, file in
                yaml.entry("key_id", text: file.key.keyID)
                yaml.entry("team_id", text: file.key.teamID)
                yaml.entry("file", text: file.path)
            }
            way.write(apple.way, to: &yaml)
        }
    }

    static var shape: Shape {
        let id = Shape.text("10 upper-case letters or digits")
        let key = Shape.section([
            Entry("key_id", id, required: true, "The id of the key."),
            Entry("team_id", id, "The team. Left out: that of the apps, if there is only one."),
            Entry("file", .path, required: true, "The .p8 file."),
        ])
        return .section(
            [
                Entry(
                    "keys", .list(key), required: true,
                    "Keys of the developer site with DeviceCheck enabled, at most 4 of a team, "
                        + "tried in this order: if Apple refuses one, the next one goes on.")
            ] + way.entries)
    }

    // MARK: keys

    private func keys(_ field: Field) -> [AppleSettings.KeyFile]? {
        guard let elements = field.list() else { return nil }
        if elements.isEmpty {
            field.error("is empty: nobody can sign in")
            return nil
        }
        var keys: [AppleSettings.KeyFile] = []
        for element in elements {
            guard let key = element.section({ key(element, &$0) }) ?? nil else { continue }
            let others = keys.filter { $0.key.teamID == key.key.teamID }
            if others.contains(where: { $0.key.keyID == key.key.keyID }) {
                element.error("key \(quoted(key.key.keyID)) is listed twice")
            } else if others.count == Self.keysOfTeamMax {
                element.error(
                    "more than \(Self.keysOfTeamMax) keys of team \(key.key.teamID): a request "
                        + "that is refused tries them all")
            } else {
                keys.append(key)
            }
        }
        return keys.count == elements.count ? keys : nil
    }

    private func key(_ field: Field, _ section: inout Section) -> AppleSettings.KeyFile? {
        let keyID = section.required("key_id").flatMap(appleID)
        let fileField = section.required("file")
        let file = fileField?.fileContents()
        let teamField = section.field("team_id")
        let teamID = teamField == nil ? onlyTeam(field) : teamField.flatMap(team)
        guard let fileField, let file else { return nil }
        let key: P256PrivateKey
        do throws(CryptoError) {
            key = try P256PrivateKey(pem: file.bytes)
        } catch {
            fileField.error(
                "\"\(file.path)\" is not a private key on P-256 in PEM, as Apple's .p8 files are")
            return nil
        }
        guard let keyID, let teamID else { return nil }
        return AppleSettings.KeyFile(
            key: AppleKey(teamID: teamID, keyID: keyID, key: key), path: file.path)
    }

    private var teams: Set<String> { Set(apps.map(\.teamID)) }

    /// Of the apps, where none is named.
    private func onlyTeam(_ field: Field) -> String? {
        // Faulty apps have been reported.
        guard let team = teams.first else { return nil }
        guard teams.count == 1 else {
            field.error("the apps are of several teams: write team_id")
            return nil
        }
        return team
    }

    private func team(_ field: Field) -> String? {
        guard let teamID = appleID(field) else { return nil }
        if !teams.isEmpty, !teams.contains(teamID) {
            let ending = Suggestion.ending(for: teamID, among: teams.sorted(), listing: true)
            field.error("no app is of team \(quoted(teamID))\(ending)")
            return nil
        }
        return teamID
    }

    /// As Apple writes ids of teams and of keys.
    private func appleID(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        guard AppIdentity.isTeamID(text.value) else {
            field.error("\(text.shown) is not an id of Apple's: 10 upper-case letters or digits")
            return nil
        }
        return text.value
    }

    // MARK: texts

    private static func proxy(_ field: Field) -> HTTPSConfiguration.Proxy? {
        guard let text = field.text() else { return nil }
        switch text.value {
        case "environment": return .environment
        case "off": return .direct
        default: break
        }
        guard let url = ProxyURL(text.value) else {
            // What it holds may be a password.
            field.error(
                "is none of environment, off and a URL: write http://host:port (or https, socks5, "
                    + "socks5h), with user:password@ before the host where it is needed")
            return nil
        }
        return .url(url.text)
    }

    /// `https://host` or `https://host:port`.
    private static func base(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        let prefix = "https://"
        let rest = text.value.dropFirst(prefix.count)
        let place = rest.contains(":") || rest.hasPrefix("[") ? String(rest) : rest + ":443"
        guard text.value.hasPrefix(prefix), let endpoint = try? EndpointText.parse(place),
            case .tcp(_, port: 1...) = endpoint
        else {
            field.error("\(text.shown) is not a place: write https://host or https://host:port")
            return nil
        }
        return text.value
    }
}

/// A proxy's URL: `scheme://[user[:password]@]host:port`.
struct ProxyURL {
    private static let schemes = ["http", "https", "socks5", "socks5h"]

    let text: String
    /// Without the password.
    let shown: String
    let hasPassword: Bool

    init?(_ text: String) {
        guard let end = text.firstRange(of: "://"),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            Self.schemes.contains(String(text[..<end.lowerBound]))
        else { return nil }
        var place = text[end.upperBound...]
        var login = ""
        if let at = place.lastIndex(of: "@") {
            login = String(place[..<at])
            place = place[place.index(after: at)...]
            guard !login.isEmpty, !login.contains("/"), !login.contains("@") else { return nil }
        }
        guard let endpoint = try? EndpointText.parse(String(place)),
            case .tcp(_, port: 1...) = endpoint
        else { return nil }
        self.text = text
        let user = login.prefix { $0 != ":" }
        hasPassword = login.contains(":")
        let shownLogin = login.isEmpty ? "" : "\(user)\(hasPassword ? ":***" : "")@"
        shown = "\(text[..<end.lowerBound])://\(shownLogin)\(place)"
    }
}
