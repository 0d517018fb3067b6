extension SettingsPrinter {
    /// Writes `signals`, where there are any.
    mutating func writeSignals() {
        let signals = settings.signals
        guard signals != SignalSettings() else { return }
        yaml.mapping("signals") { yaml in
            if let user = signals.user {
                yaml.mapping("user") { yaml in
                    yaml.entry("header", text: user.header)
                    yaml.entry("from", user.source.rawValue)
                    yaml.entry("retention", Quantity.describe(user.retention))
                }
            }
            Self.write("keys_per_user", signals.userKeys, to: &yaml)
            Self.write("new_key_per_user", signals.newUserKey, hasCount: false, to: &yaml)
            Self.write("keys_per_address", signals.addressKeys, to: &yaml)
            Self.write("attestations_per_address", signals.addressAttestations, to: &yaml)
            Self.write("conflicts_per_key", signals.keyConflicts, to: &yaml)
            if let bits = signals.deviceBits {
                let names = settings.deviceBitNames
                yaml.mapping("keys_per_device_bit") { yaml in
                    yaml.entry("token", bits.token.rawValue)
                    guard bits.rules.contains(where: { $0 != nil }) else { return }
                    yaml.mapping("bits") { yaml in
                        for (name, rule) in zip(names, bits.rules) {
                            Self.write(name, rule, to: &yaml)
                        }
                    }
                }
            }
            yaml.entry("subjects", "\(signals.subjectCountMax)")
        }
    }

    private static func write(
        _ key: String, _ rule: SignalSettings.Rule?, hasCount: Bool = true, to yaml: inout YAMLText
    ) {
        guard let rule else { return }
        yaml.mapping(key) { yaml in
            if hasCount { yaml.entry("max", "\(rule.countMax)") }
            yaml.entry("window", Quantity.describe(rule.window))
            write("action", rule.action.rawValue, rule.rateLimit, to: &yaml)
        }
    }
}
