extension SettingsPrinter {
    /// Writes `identity`, where there is one.
    mutating func writeIdentity() {
        let identity = settings.identity
        guard !identity.keys.isEmpty else { return }
        yaml.mapping("identity") { yaml in
            yaml.entry("keys", list: identity.keys.map(\.path))
            yaml.entry("issuer", text: identity.issuer)
            yaml.entry("subject", identity.subject.rawValue)
            yaml.entry("tokens", "\(identity.tokenCountMax)")
        }
    }

    static func write(_ identity: UpstreamIdentity, to yaml: inout YAMLText) {
        yaml.entry("audience", list: identity.audience)
        yaml.entry("header", text: identity.header)
        yaml.entry("ttl", Quantity.describe(identity.timeToLive))
        yaml.entry("per", identity.scope.rawValue)
    }
}
