import Policy

extension SettingsPrinter {
    static func write(_ route: Route, _ settings: Settings, to yaml: inout YAMLText) {
        yaml.entry("name", text: route.name)
        switch route.path {
        // A * of the path itself must not be taken for the pattern's.
        case .exact(let path): yaml.entry("path", text: path.replacing("*", with: "%2A"))
        case .prefix(let path): yaml.entry("path", text: path.replacing("*", with: "%2A") + "*")
        }
        if !route.hosts.isEmpty { yaml.entry("hosts", list: route.hosts.map(\.description)) }
        if !route.methods.isEmpty { yaml.entry("methods", list: route.methods) }
        if !route.headers.isEmpty {
            yaml.mapping("headers") { yaml in
                for condition in route.headers { write(condition, to: &yaml) }
            }
        }
        if let upstream = route.upstream, settings.upstreams.indices.contains(upstream) {
            yaml.entry("upstream", text: settings.upstreams[upstream].name)
        }
        yaml.entry("body_max", Quantity.describe(byteCount: route.bodyByteCountMax))
        if route.allowsWeaker { yaml.entry("allow_weaker", "true") }
        let attest = route.attest
        yaml.mapping("attest") { yaml in
            yaml.entry("mode", attest.mode.rawValue)
            yaml.entry("client_data", attest.clientData.rawValue)
            yaml.entry("challenge", attest.challenge.rawValue)
            switch attest.replay {
            case .strict: yaml.entry("replay", "strict")
            case .durable: yaml.entry("replay", "durable")
            case .window(let size): yaml.entry("replay", "{ window: \(size) }")
            }
            yaml.entry("rollout", "\(attest.rolloutPercent)%")
            if attest.clientData == .body {
                yaml.entry("challenge_member", text: attest.challengeMember)
                if let member = attest.keyIDMember { yaml.entry("key_id_member", text: member) }
            }
        }
    }

    private static func write(_ condition: HeaderCondition, to yaml: inout YAMLText) {
        let name = YAMLText.scalar(condition.name)
        switch condition.test {
        case .present: yaml.entry(name, "present")
        case .absent: yaml.entry(name, "absent")
        case .equals(let value) where value == "present" || value == "absent":
            yaml.mapping(name) { $0.entry("equals", text: value) }
        case .equals(let value): yaml.entry(name, text: value)
        }
    }
}
