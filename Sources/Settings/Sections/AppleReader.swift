import AppAttest
import AppleServices
import Attestation
import Crypto
import HTTPSClient

/// Declares `apple`.
struct AppleReader {
    let apps: [AppIdentity]

    /// A rotation needs three: the key in use, a new one and an old one. The bound is low, because
    /// a refused request tries them all.
    static let keysOfTeamMax = 4

    var kind: Kind<AppleSettings> {
        Kind.section(form) { section, way in
            if section.field("ca") == nil { way.authorities = section.place.systemAuthorities() }
        }.map(
            { way in way.authorities.map { AppleSettings(way: way, authorities: $0) } },
            from: { $0.way })
    }

    private var form: Form<AppleSettings.Way> {
        let shortest = Duration.milliseconds(100)
        return Form(AppleSettings.Way()) {
            Setting(
                "keys", \.keys, keys, required: true,
                "Keys from Apple's developer site with DeviceCheck enabled, tried in this order.")
            Setting(
                "authorization", \.authorization, .word,
                "The Authorization header for receipts, in Apple's sample bare.")
            Setting(
                "proxy", \.proxy, Self.proxy,
                "environment: https_proxy and no_proxy of the gateway's environment. off: no "
                    + "proxy. Or one URL for all hosts; ${file:...} keeps its password out of this "
                    + "file.")
            Setting(
                "ca", optional: \.authoritiesPath, .path,
                "Authorities in PEM for Apple's hosts and a proxy that inspects TLS, in place of "
                    + "the system's."
            ) { field, way in
                way.authorities = field.authorities()
            }
            Setting(
                "connect_timeout", \.connectTimeout,
                .duration(shortest, .seconds(60), "requests wait for it"),
                "The time for name resolution, connection and TLS together.")
            Setting(
                "timeout", \.timeout, .duration(shortest, .seconds(120), "requests wait for it"),
                "The time for a whole request.")
            Setting(
                "in_flight_max", \.inFlightCountMax,
                .count(1...10_000, "each waiting request holds memory"),
                "Requests in flight to each service.")
            Setting(
                "hosts", group: Self.hosts,
                "Other hosts than Apple's: for tests with "
                    + "sallyport-lab only.")
        }
    }

    private static var hosts: Form<AppleSettings.Way> {
        Form(AppleSettings.Way()) {
            Setting(
                "attestation_data", \.attestationData, hosts(.attestationData),
                "The service that exchanges receipts.")
            Setting(
                "device_check", \.deviceCheck, hosts(.deviceCheck), "The DeviceCheck service.")
        }
    }

    private static func hosts(_ standard: AppleHosts) -> Kind<AppleHosts> {
        let form = Form(standard) {
            Setting("production", \.production, base, "The host for production keys.")
            Setting("development", \.development, base, "The host for development keys.")
        }
        return .section(form) { section, hosts in
            if hosts != standard {
                section.warning("NOT APPLE'S, yet its answers are believed")
            }
        }
    }

    private static var proxy: Kind<HTTPSConfiguration.Proxy> {
        let url = Kind(
            .text("http (https, socks5, socks5h)://[user:password@]host:port", pattern: "://"),
            read: proxyURL
        ) { proxy in
            guard case .url(let url) = proxy else { return .absent }
            return .text(ProxyURL(url)?.shown ?? SettingsPrinter.passwordMask)
        }
        return .words([("environment", .environment), ("off", .direct)], or: url)
    }

    private static func proxyURL(_ field: Field) -> HTTPSConfiguration.Proxy? {
        guard let text = field.text() else { return nil }
        if let url = ProxyURL(text.value) { return .url(url.text) }
        // The value may hold a password.
        field.error(
            "is neither environment, off, nor a URL: write http://host:port (or https, socks5, "
                + "socks5h), with user:password@ before the host if it needs them")
        return nil
    }

    private static var base: Kind<String> {
        .text(
            .text("https://host or https://host:port"),
            "is not a place: write https://host or https://host:port"
        ) { text in
            let prefix = "https://"
            let rest = text.dropFirst(prefix.count)
            let place = rest.contains(":") || rest.hasPrefix("[") ? String(rest) : rest + ":443"
            guard text.hasPrefix(prefix), case .tcp(_, port: 1...)? = try? EndpointText.parse(place)
            else { return false }
            return true
        }
    }

    // MARK: keys

    /// A key as it is read.
    private struct Key {
        var keyID = ""
        var teamID = ""
        var path = ""
        var key: P256PrivateKey?
    }

    private var keys: Kind<[AppleSettings.KeyFile]> {
        Kind<[AppleSettings.KeyFile]>.list(
            key, by: { [$0.key.teamID, $0.key.keyID] }, empty: "is empty: no team can sign in"
        ) { "key \(quoted($0.key.keyID)) is listed twice" }
        .checked { field, keys in
            for (index, key) in keys.enumerated() {
                let team = key.key.teamID
                guard keys[..<index].count(where: { $0.key.teamID == team }) == Self.keysOfTeamMax
                else { continue }
                field.context.error(
                    "more than \(Self.keysOfTeamMax) keys of team \(team): a request that is "
                        + "refused tries them all", at: "\(field.path)[\(index)]")
            }
        }
    }

    private var key: Kind<AppleSettings.KeyFile> {
        let form = Form(Key()) {
            Setting("key_id", \.keyID, Self.appleID, required: true, "The key's id.")
            Setting(
                "team_id", \.teamID, team,
                "The key's team. Required if the apps are of several teams.")
            Setting(
                "file", \.path, .path, required: true,
                "The .p8 file, read at the start and at SIGHUP."
            ) { field, key in
                key.key = field.secretFile { _, bytes throws(Fault) in
                    if let key = try? P256PrivateKey(pem: bytes) { return key }
                    throw Fault(
                        "is not an unencrypted private key on P-256 in PEM, as Apple's .p8 files "
                            + "are")
                }
            }
        }
        return Kind.section(form) { section, key in
            if section.field("team_id") == nil { key.teamID = onlyTeam(section.place) ?? "" }
        }.map { read in
            guard let key = read.key, !read.teamID.isEmpty else { return nil }
            return AppleSettings.KeyFile(
                key: AppleKey(teamID: read.teamID, keyID: read.keyID, key: key), path: read.path)
        } from: { file in
            Key(keyID: file.key.keyID, teamID: file.key.teamID, path: file.path)
        }
    }

    private var teams: Set<String> { Set(apps.map(\.teamID)) }

    /// The team of the apps, for a key that names none.
    private func onlyTeam(_ field: Field) -> String? {
        // Faulty apps have been reported.
        guard let team = teams.first else { return nil }
        guard teams.count == 1 else {
            field.error("the apps are of several teams: write team_id")
            return nil
        }
        return team
    }

    private var team: Kind<String> {
        Self.appleID.checked { field, teamID in
            if !teams.isEmpty, !teams.contains(teamID) {
                let ending = Suggestion.ending(for: teamID, among: teams.sorted(), listing: true)
                field.error("no app is of team \(quoted(teamID))\(ending)")
            }
        }
    }

    /// The form in which Apple writes the ids of teams and of keys.
    private static var appleID: Kind<String> {
        .text(
            .text("10 upper-case letters or digits"),
            "is not an id of Apple's: 10 upper-case letters or digits", AppIdentity.isTeamID)
    }
}
