import AppAttest
import AppleServices

/// Reads `device_check`.
struct DeviceCheckReader {
    /// Nil where it is missing or faulty.
    let apple: AppleSettings?
    let hasApple: Bool

    /// Shorter ones can be guessed.
    static let secretByteCountMin = 16

    func deviceCheck(_ field: Field) -> DeviceCheckSettings? {
        if !hasApple { field.error("needs apple: Apple is asked about devices") }
        return field.section { section in
            let teamField = section.field("team_id")
            let teamID = teamField == nil ? onlyTeam(field) : teamField.flatMap(team)
            var settings = DeviceCheckSettings(teamID: teamID ?? "")
            Self.form.read(&section, into: &settings)
            return teamID == nil ? nil : settings
        } ?? nil
    }

    private var teams: [String] { Set(apple?.keys.map(\.key.teamID) ?? []).sorted() }

    private func onlyTeam(_ field: Field) -> String? {
        // What is wrong with apple has been reported.
        guard let team = teams.first else { return nil }
        guard teams.count == 1 else {
            field.error("apple has keys of several teams: write team_id")
            return nil
        }
        return team
    }

    private func team(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        if !teams.isEmpty, !teams.contains(text.value) {
            let ending = Suggestion.ending(for: text.value, among: teams, listing: true)
            field.error("apple has no key of team \(text.shown)\(ending)")
            return nil
        }
        return text.value
    }

    static func write(_ deviceCheck: DeviceCheckSettings, to yaml: inout YAMLText) {
        yaml.mapping("device_check") { form.write(deviceCheck, to: &$0) }
    }

    static var form: Form<DeviceCheckSettings> {
        Form(DeviceCheckSettings(teamID: "")) {
            Setting(
                "team_id", shown: \.teamID, .text("10 upper-case letters or digits"),
                "The team. Left out: that of apple.keys, if there is only one.")
            Setting(
                "environments", \.environments, .environments("is empty: no device would be known"),
                "Whose devices requests may come from, in the order in which Apple is asked.")
            Setting(
                "rate", \.rate, .rate,
                "How often requests and enrolments may make the gateway ask Apple. Beyond, the "
                    + "answer is 429.")
            Setting(
                "in_flight_max", \.inFlightCountMax,
                .count(1...10_000, "each waiting request holds memory"),
                "How many may ask at once. Beyond, the answer is 503.")
            Setting(
                "token_memory", \.tokenMemory,
                .duration(.seconds(60), .seconds(24 * 3600), "Apple forgets tokens, too"),
                "How long an accepted token is remembered.")
            Setting(
                "bits", \.bitNames, bitNames,
                "What the bits mean, for signals.keys_per_device_bit and the admin listener.")
            Setting(
                "admin_secret_file", .path,
                "At least 16 visible characters in its first line. Who has them may ask and set "
                    + "bits. Left out: nobody."
            ) { section, deviceCheck in
                if let read = section.field("admin_secret_file").flatMap(secret) {
                    deviceCheck.adminSecretPath = read.path
                    deviceCheck.adminSecret = read.secret
                }
            } write: { deviceCheck, yaml in
                if let path = deviceCheck.adminSecretPath {
                    yaml.entry("admin_secret_file", text: path)
                }
            }
        }
    }

    private static var bitNames: Kind<[String]> {
        let form = Form(DeviceCheckSettings.appleBitNames) {
            Setting("bit0", \.[0], .name, "The name of the first bit.")
            Setting("bit1", \.[1], .name, "The name of the second bit.")
        }
        let kind = Kind.section(form)
        return kind.reading { field in
            guard let names = kind.read(field) else { return nil }
            let isSwapped = names[0] == "bit1" || names[1] == "bit0"
            if names[0] == names[1] || isSwapped {
                field.error("both bits would be meant by one name")
                return nil
            }
            return names
        }
    }

    /// The first line of the file.
    private static func secret(_ field: Field) -> (path: String, secret: [UInt8])? {
        guard let (path, bytes) = field.fileContents() else { return nil }
        let line = Array(bytes.prefix { $0 != 0x0A && $0 != 0x0D })
        guard line.count >= secretByteCountMin else {
            field.error(
                "\"\(path)\" holds a secret of \(line.count) bytes: "
                    + "\(secretByteCountMin) are needed")
            return nil
        }
        guard line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            field.error("\"\(path)\" holds other than visible ASCII characters")
            return nil
        }
        return (path, line)
    }
}

extension Kind where Value == [AttestEnvironment] {
    /// At least one; without any `emptyMessage` says why not.
    static func environments(_ emptyMessage: String) -> Kind {
        let element = Kind<AttestEnvironment>.word
        return Kind(.list(element.shape)) { field in
            guard let found = field.list(element.read) else { return nil }
            if found.isEmpty { field.error(emptyMessage) }
            return found
        } write: { key, environments, yaml in
            yaml.entry(key, list: environments.map(\.rawValue))
        }
    }
}
