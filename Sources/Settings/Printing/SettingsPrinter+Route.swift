import Policy

extension SettingsPrinter {
    static func write(_ route: Route, _ settings: Settings, to yaml: inout YAMLText) {
        yaml.entry("name", text: route.name)
        yaml.entry("path", text: RoutePath.text(route.path))
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
        Kind.rateLimits().write("rate_limit", route.rateLimits, &yaml)
        if route.streamsBody { yaml.entry("request_body", "stream") }
        if route.allowsWebSocket { yaml.entry("upgrade", list: ["websocket"]) }
        writeAction(route, to: &yaml)
        if route.allowsWeaker { yaml.entry("allow_weaker", "true") }
        let attest = PlacedPolicy(
            policy: route.attest, rollout: route.rollout, restrictions: route.restrictions)
        yaml.mapping("attest") { AttestReader.form.write(attest, to: &$0) }
    }

    private static func writeAction(_ route: Route, to yaml: inout YAMLText) {
        switch route.answer {
        case .redirect(let redirect)?:
            yaml.mapping("redirect") { RedirectReader.write(redirect, to: &$0) }
        case .respond(let response)?:
            yaml.mapping("respond") { yaml in
                yaml.entry("status", "\(response.status)")
                if !response.body.isEmpty { yaml.entry("body", text: response.body) }
                yaml.entry("content_type", text: response.contentType)
            }
        case nil: break
        }
        switch route.rewrite {
        case .prefix(let prefix)?: yaml.mapping("rewrite") { $0.entry("prefix", text: prefix) }
        case .path(let path)?: yaml.mapping("rewrite") { $0.entry("path", text: path) }
        case nil: break
        }
        switch route.upstreamHost {
        case .preserve: break
        case .upstream: yaml.entry("upstream_host", "upstream")
        case .name(let name): yaml.entry("upstream_host", text: name)
        }
        write("request_headers", route.requestHeaders, to: &yaml)
        write("response_headers", route.responseHeaders, to: &yaml)
        let overrides = route.overrides
        if let byteCount = overrides.bodyMemoryByteCountMax {
            yaml.mapping("limits") {
                $0.entry("body_memory", Quantity.describe(byteCount: byteCount))
            }
        }
        let timeouts = [
            ("request", overrides.requestTimeout), ("request_body", overrides.requestBodyTimeout),
            ("response", overrides.responseTimeout), ("read", overrides.readTimeout),
        ]
        guard timeouts.contains(where: { $0.1 != nil }) else { return }
        yaml.mapping("timeouts") { yaml in
            for case let (key, timeout?) in timeouts {
                yaml.entry(key, timeout == .zero ? "off" : Quantity.describe(timeout))
            }
        }
    }

    private static func write(_ key: String, _ edits: HeaderEdits, to yaml: inout YAMLText) {
        guard !edits.isEmpty else { return }
        yaml.mapping(key) { yaml in
            if !edits.remove.isEmpty { yaml.entry("remove", list: edits.remove) }
            for (key, lines) in [("set", edits.set), ("add", edits.add)] where !lines.isEmpty {
                yaml.mapping(key) { yaml in
                    for line in lines {
                        let value = line.isSecret ? passwordMask : line.value.description
                        yaml.entry(YAMLText.scalar(line.name), text: value)
                    }
                }
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
