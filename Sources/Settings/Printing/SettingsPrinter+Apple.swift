import AppAttest
import AppleServices
import HTTPSClient

extension SettingsPrinter {
    static func write(_ apple: AppleSettings, to yaml: inout YAMLText) {
        yaml.mapping("apple") { yaml in
            yaml.list("keys", apple.keys) { yaml, file in
                yaml.entry("key_id", text: file.key.keyID)
                yaml.entry("team_id", text: file.key.teamID)
                yaml.entry("file", text: file.path)
            }
            yaml.entry("authorization", apple.authorization.rawValue)
            switch apple.proxy {
            case .environment: yaml.entry("proxy", "environment")
            case .direct: yaml.entry("proxy", "off")
            case .url(let url): yaml.entry("proxy", text: ProxyURL(url)?.shown ?? passwordMask)
            }
            if let path = apple.authoritiesPath { yaml.entry("ca", text: path) }
            yaml.entry("connect_timeout", Quantity.describe(apple.connectTimeout))
            yaml.entry("timeout", Quantity.describe(apple.timeout))
            yaml.entry("in_flight_max", "\(apple.inFlightCountMax)")
            yaml.mapping("hosts") { yaml in
                write("attestation_data", apple.attestationData, to: &yaml)
                write("device_check", apple.deviceCheck, to: &yaml)
            }
        }
    }

    static func write(_ deviceCheck: DeviceCheckSettings, to yaml: inout YAMLText) {
        yaml.mapping("device_check") { yaml in
            yaml.entry("team_id", text: deviceCheck.teamID)
            yaml.entry("environments", list: deviceCheck.environments.map(\.rawValue))
            yaml.entry("rate", "\(deviceCheck.rate)")
            yaml.entry("in_flight_max", "\(deviceCheck.inFlightCountMax)")
            yaml.entry("token_memory", Quantity.describe(deviceCheck.tokenMemory))
            yaml.mapping("bits") { yaml in
                yaml.entry("bit0", text: deviceCheck.bitNames[0])
                yaml.entry("bit1", text: deviceCheck.bitNames[1])
            }
            if let path = deviceCheck.adminSecretPath {
                yaml.entry("admin_secret_file", text: path)
            }
        }
    }

    private static func write(_ key: String, _ hosts: AppleHosts, to yaml: inout YAMLText) {
        yaml.mapping(key) { yaml in
            yaml.entry("production", text: hosts.production)
            yaml.entry("development", text: hosts.development)
        }
    }
}

extension AppleSettings {
    /// Whether the URL of the proxy holds a password.
    var hasPrintedPassword: Bool {
        guard case .url(let url) = proxy else { return false }
        return ProxyURL(url)?.hasPassword == true
    }
}
