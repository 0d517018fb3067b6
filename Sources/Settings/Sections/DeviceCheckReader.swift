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
            section.set("environments", &settings.environments) { field in
                guard let found = field.list({ $0.choice(AttestEnvironment.self) }) else {
                    return nil
                }
                if found.isEmpty { field.error("is empty: no device would be known") }
                return found
            }
            section.set("rate", &settings.rate, RateLimitReader.rate)
            section.set("in_flight_max", &settings.inFlightCountMax) {
                $0.count(1...10_000, "each waiting request holds memory")
            }
            section.set("token_memory", &settings.tokenMemory) {
                $0.duration(.seconds(60), .seconds(24 * 3600), "Apple forgets tokens, too")
            }
            section.set("bits", &settings.bitNames, bitNames)
            if let file = section.field("admin_secret_file"), let read = secret(file) {
                settings.adminSecretPath = read.path
                settings.adminSecret = read.secret
            }
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

    private func bitNames(_ field: Field) -> [String]? {
        field.section { section in
            var names = DeviceCheckSettings.appleBitNames
            for index in names.indices {
                section.set("bit\(index)", &names[index]) { field in
                    guard let text = field.text() else { return nil }
                    guard Name.isValid(text.value) else {
                        field.error("\(text.shown) \(Name.rule)")
                        return nil
                    }
                    return text.value
                }
            }
            let isSwapped = names[0] == "bit1" || names[1] == "bit0"
            if names[0] == names[1] || isSwapped {
                field.error("both bits would be meant by one name")
                return nil
            }
            return names
        } ?? nil
    }

    /// The first line of the file.
    private func secret(_ field: Field) -> (path: String, secret: [UInt8])? {
        guard let (path, bytes) = field.fileContents() else { return nil }
        let line = Array(bytes.prefix { $0 != 0x0A && $0 != 0x0D })
        guard line.count >= Self.secretByteCountMin else {
            field.error(
                "\"\(path)\" holds a secret of \(line.count) bytes: "
                    + "\(Self.secretByteCountMin) are needed")
            return nil
        }
        guard line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            field.error("\"\(path)\" holds other than visible ASCII characters")
            return nil
        }
        return (path, line)
    }
}
