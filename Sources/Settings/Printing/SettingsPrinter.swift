import AppAttest
import HTTP
import Policy

/// Writes settings as a configuration with every key, defaults included, for `check --print`.
///
/// Loaded again it gives equal settings, except for passwords of Redis, PostgreSQL and a
/// proxy, which are shown as ``passwordMask``.
public struct SettingsPrinter {
    public static let passwordMask = "***"

    let settings: Settings
    var yaml = YAMLText()

    private init(_ settings: Settings) { self.settings = settings }

    public static func text(of settings: Settings) -> String {
        var printer = SettingsPrinter(settings)
        printer.writeAll()
        return printer.yaml.text
    }

    private mutating func writeAll() {
        if case .redis(let redis) = settings.counters, redis.hasPrintedPassword {
            yaml.comment("The password of Redis is shown as \(Self.passwordMask).")
        }
        if case .postgres(let postgres) = settings.registry, postgres.password != nil {
            yaml.comment("The password of PostgreSQL is shown as \(Self.passwordMask).")
        }
        if settings.apple?.hasPrintedPassword == true {
            yaml.comment("The password of Apple's proxy is shown as \(Self.passwordMask).")
        }
        yaml.entry("workers", "\(settings.workerCount)")
        writeRateLimits()
        yaml.entry("forwarded", settings.forwarded.rawValue)
        writeListeners()
        writeApps()
        if let apple = settings.apple { Self.write(apple, to: &yaml) }
        if let deviceCheck = settings.deviceCheck { Self.write(deviceCheck, to: &yaml) }
        writeStores()
        writeChallenge()
        writeHeaders()
        writeUpstreams()
        yaml.list("routes", settings.routes) { yaml, route in
            Self.write(route, settings, to: &yaml)
        }
        if let admin = settings.admin {
            yaml.mapping("admin") { $0.entry("bind", text: admin.bind.description) }
        }
        yaml.mapping("log") { yaml in
            yaml.entry("access", Self.text(settings.log.access))
            yaml.entry("events", Self.text(settings.log.events))
            yaml.entry("keys", settings.log.keys.rawValue)
        }
        writeLimits()
    }

    private mutating func writeListeners() {
        yaml.list("listeners", settings.listeners) { yaml, listener in
            yaml.entry("bind", text: listener.bind.description)
            let allowed = ListenerReader.allowances.filter { listener.allow.contains($0.value) }
            yaml.entry("allow", list: allowed.map(\.name))
            yaml.entry("trusted_proxies", list: listener.trustedProxies.map(\.description))
            if !listener.proxyProtocol.isEmpty {
                yaml.mapping("proxy_protocol") { yaml in
                    yaml.entry("from", list: listener.proxyProtocol.map(\.description))
                }
            }
            Self.write("rate_limit", listener.rateLimits, to: &yaml)
            yaml.entry("protocols", list: listener.protocols.map(\.rawValue))
            if let redirect = listener.redirect { Self.write(redirect, to: &yaml) }
            if let tls = listener.tls { TLSPrinter.write(tls, to: &yaml) }
        }
    }

    private mutating func writeApps() {
        yaml.list("apps", settings.apps) { yaml, app in
            yaml.entry("id", text: app.id)
            let environments = AttestEnvironment.allCases.filter(app.environments.contains)
            yaml.entry("environments", list: environments.map(\.rawValue))
            yaml.mapping("macos") {
                $0.entry("require_full_security", "\(app.requiresMacFullSecurity)")
            }
        }
        yaml.mapping("trust") { yaml in
            yaml.entry("extra_roots", list: settings.trust.extraRootPaths)
            yaml.entry("clock_skew", Quantity.describe(settings.trust.clockSkew))
        }
    }

    private mutating func writeStores() {
        yaml.mapping("registry") { yaml in
            switch settings.registry {
            case .sqlite(let path): yaml.entry("sqlite", text: path)
            case .postgres(let postgres): Self.write(postgres, to: &yaml)
            }
        }
        switch settings.counters {
        case .embedded: yaml.entry("counters", "embedded")
        case .redis(let redis): yaml.mapping("counters") { Self.write(redis, to: &$0) }
        }
        yaml.mapping("key_cache") { $0.entry("records", "\(settings.keyCache.recordCountMax)") }
    }

    private mutating func writeChallenge() {
        yaml.mapping("challenge") { yaml in
            yaml.entry("ttl", Quantity.describe(settings.challenge.timeToLive))
            yaml.entry(
                "attestation_ttl", Quantity.describe(settings.challenge.attestationTimeToLive))
        }
        yaml.mapping("session_tokens") { yaml in
            yaml.entry("ttl", Quantity.describe(settings.sessionTokens.timeToLive))
            if let name = settings.sessionTokens.boundHeader { yaml.entry("bind_to", text: name) }
        }
        yaml.mapping("receipts") { Self.write(settings.receipts, to: &$0) }
        writeSecrets()
        writeSignals()
        writeIdentity()
        yaml.mapping("endpoints") { yaml in
            yaml.entry("base", text: settings.endpoints.base)
            yaml.entry(
                "body_max", Quantity.describe(byteCount: settings.endpoints.bodyByteCountMax))
            yaml.mapping("rate_limit") { yaml in
                Self.write("challenge", settings.endpoints.challengeRateLimits, to: &yaml)
                if let names = settings.endpoints.attestationChallengeRateLimits {
                    Self.write("attestation_challenge", names, to: &yaml)
                }
                Self.write("attestation", settings.endpoints.attestationRateLimits, to: &yaml)
            }
            Self.write(settings.endpoints.attestRollout, to: &yaml)
        }
    }

    private mutating func writeSecrets() {
        yaml.mapping("developer_tokens") { yaml in
            yaml.entry("max_ttl", Quantity.describe(settings.developerTokens.lifeMax))
            yaml.entry("revoked", list: settings.developerTokens.revoked)
        }
        let secrets = settings.secrets
        guard secrets != SecretSettings() else { return }
        yaml.mapping("secrets") { yaml in
            if let file = secrets.challengeKeyFile {
                yaml.entry("challenge_key_file", text: file)
            }
            if let file = secrets.pseudonymKeyFile {
                yaml.entry("pseudonym_key_file", text: file)
            }
        }
    }

    private mutating func writeHeaders() {
        yaml.mapping("headers") { yaml in
            yaml.entry("assertion", text: settings.headers.assertion)
            yaml.entry("client_data", text: settings.headers.clientData)
            yaml.entry("key_id", text: settings.headers.keyID)
            yaml.entry("token", text: settings.headers.token)
            yaml.entry("device_check", text: settings.headers.deviceCheck)
        }
    }

    private mutating func writeUpstreams() {
        yaml.mapping("upstreams") { yaml in
            for upstream in settings.upstreams {
                yaml.mapping(YAMLText.scalar(upstream.name)) { yaml in
                    Self.write(upstream, to: &yaml)
                    if let tls = upstream.tls { TLSPrinter.write(tls, to: &yaml) }
                }
            }
        }
    }

    private static func text(_ destination: LogSettings.Destination) -> String {
        switch destination {
        case .off: "off"
        case .standardOutput: "stdout"
        case .standardError: "stderr"
        case .file(let path): YAMLText.scalar(path)
        }
    }

    private mutating func writeLimits() {
        let limits = settings.limits
        yaml.mapping("limits") { yaml in
            func bytes(_ key: String, _ count: Int) {
                yaml.entry(key, Quantity.describe(byteCount: count))
            }
            yaml.entry("connections", "\(limits.connectionCountMax)")
            yaml.entry(
                "connections_per_address",
                limits.connectionsPerAddressMax.map { "\($0)" } ?? "off")
            yaml.entry(
                "requests_per_address", limits.requestsPerAddress.map { "\($0)" } ?? "off")
            bytes("head", limits.headByteCountMax)
            yaml.entry("fields", "\(limits.fieldCountMax)")
            bytes("target", limits.targetByteCountMax)
            bytes("body", limits.bodyByteCountMax)
            bytes("body_memory", limits.bodyMemoryByteCountMax)
            yaml.entry("temporary_directory", text: limits.temporaryDirectory)
            bytes("response_head", limits.responseHeadByteCountMax)
            bytes("response_buffer", limits.responseBufferByteCountMax)
            yaml.entry("requests_per_connection", "\(limits.requestsPerConnectionMax)")
            bytes("assertion", limits.assertionByteCountMax)
            bytes("client_data", limits.clientDataByteCountMax)
            yaml.entry("registry_queue", "\(limits.registryQueueCountMax)")
            yaml.entry(
                "body_rate_min", Quantity.describe(limits.bodyRateMin, Quantity.byteRateUnits))
            yaml.entry(
                "response_rate_min",
                Quantity.describe(limits.responseRateMin, Quantity.byteRateUnits))
            yaml.mapping("http2") { Self.write(limits.http2, to: &$0) }
        }
        let timeouts = settings.timeouts
        yaml.mapping("timeouts") { yaml in
            yaml.entry("request_head", Quantity.describe(timeouts.requestHead))
            yaml.entry("request_body", Quantity.describe(timeouts.requestBody))
            yaml.entry("body_grace", Quantity.describe(timeouts.bodyGrace))
            yaml.entry("tls_handshake", Quantity.describe(timeouts.tlsHandshake))
            yaml.entry("idle", Quantity.describe(timeouts.idle))
            yaml.entry("send", Quantity.describe(timeouts.send))
            yaml.entry("response_grace", Quantity.describe(timeouts.responseGrace))
            yaml.entry("http2_settings", Quantity.describe(timeouts.settings))
            yaml.entry(
                "request", timeouts.request == .zero ? "off" : Quantity.describe(timeouts.request))
            yaml.entry("tunnel", Quantity.describe(timeouts.tunnel))
            yaml.entry("registry", Quantity.describe(timeouts.registry))
            yaml.entry("drain", Quantity.describe(timeouts.drain))
            yaml.entry("tunnel_drain", Quantity.describe(timeouts.tunnelDrain))
            yaml.entry("upgrade", Quantity.describe(timeouts.upgrade))
        }
    }
}
