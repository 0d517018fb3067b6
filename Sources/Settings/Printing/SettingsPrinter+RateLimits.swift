extension SettingsPrinter {
    mutating func writeRateLimits() {
        let limits = settings.rateLimits
        yaml.mapping("rate_limits") { yaml in
            for limit in limits {
                yaml.mapping(YAMLText.scalar(limit.name)) { yaml in
                    yaml.entry("by", limit.subject.rawValue)
                    yaml.entry("rate", limit.rate.description)
                    yaml.entry("burst", "\(limit.burst)")
                    if limit.subject == .address {
                        yaml.entry("except", list: limit.exempt.map(\.description))
                    }
                }
            }
        }
    }

    /// The names of rate limits; `off` without any.
    static func write(_ key: String, _ names: [String], to yaml: inout YAMLText) {
        if names.isEmpty { yaml.entry(key, "off") } else { yaml.entry(key, list: names) }
    }
}
