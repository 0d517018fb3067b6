import AppAttest
import AppleServices
import Crypto

/// Declares `device_check`.
struct DeviceCheckReader {
    /// The section `apple`, or nil if it is missing or faulty.
    let apple: AppleSettings?

    /// A shorter secret can be guessed.
    static let secretByteCountMin = 16

    var kind: Kind<DeviceCheckSettings> {
        .section(form) { section, deviceCheck in
            if !section.context.has("apple") {
                section.error("needs apple, by which Apple is asked about devices")
            }
            if section.field("team_id") == nil {
                deviceCheck.teamID = onlyTeam(section.place) ?? ""
            }
            if deviceCheck.teamID.isEmpty { section.fail() }
        }
    }

    private var teams: [String] { Set(apple?.keys.map(\.key.teamID) ?? []).sorted() }

    private func onlyTeam(_ field: Field) -> String? {
        // The fault of apple has been reported.
        guard let team = teams.first else { return nil }
        guard teams.count == 1 else {
            field.error("apple has keys of several teams: write team_id")
            return nil
        }
        return team
    }

    private var team: Kind<String> {
        .text(.text("10 upper-case letters or digits")) { field in
            field.name(among: teams) { "apple has no key of team \($0)" }
        }
    }

    private var form: Form<DeviceCheckSettings> {
        Form(DeviceCheckSettings(teamID: "")) {
            Setting(
                "team_id", \.teamID, team,
                "The team. Required if apple.keys are of several teams.")
            Setting(
                "environments", \.environments,
                .list(.word, empty: "is empty: no device would be known"),
                "The environments of devices, in the order of questions.")
            Setting(
                "rate", \.rate, .rate,
                "How often requests and enrolments may make the gateway ask Apple. More get 429 in "
                    + "any case.")
            Setting(
                "in_flight_max", \.inFlightCountMax,
                .count(1...10_000, "each waiting request holds memory"),
                "Questions in flight at once. More requests get 503 in any case.")
            Setting(
                "token_memory", \.tokenMemory,
                .duration(.seconds(60), .seconds(24 * 3600), "Apple forgets tokens too"),
                "How long a token is remembered.")
            Setting(
                "bits", \.bitNames, Self.bitNames,
                "The names of the two bits, for signals.keys_per_device_bit and for POST "
                    + "/device-check/query, update and validate.")
            Setting(
                "admin_secret_file", optional: \.adminSecretPath, .path,
                "A file whose first line is a secret of at least 16 visible characters, for "
                    + "reading and setting bits on the admin listener. If left out, they cannot be."
            ) { field, deviceCheck in
                deviceCheck.adminSecret = field.secretFile(Self.secret)
            }
        }
    }

    private static var bitNames: Kind<[String]> {
        let form = Form(DeviceCheckSettings.appleBitNames) {
            Setting("bit0", \.[0], .name, "The first bit's name.")
            Setting("bit1", \.[1], .name, "The second bit's name.")
        }
        return .section(form) { section, names in
            let isSwapped = names[0] == "bit1" || names[1] == "bit0"
            if names[0] == names[1] || isSwapped { section.error("one name would mean both bits") }
        }
    }

    /// The first line of the file.
    private static func secret(_ path: String, _ bytes: [UInt8]) throws(Fault) -> Secret {
        // Made a secret at once, so that it is overwritten even if it is refused.
        let secret = Secret(Array(bytes.prefix { $0 != 0x0A && $0 != 0x0D }))
        guard secret.bytes.count >= secretByteCountMin else {
            throw Fault(
                "holds a secret of \(secret.bytes.count) bytes: \(secretByteCountMin) are needed")
        }
        guard secret.bytes.allSatisfy(\.isVisible) else {
            throw Fault("holds characters other than visible ASCII")
        }
        return secret
    }
}
