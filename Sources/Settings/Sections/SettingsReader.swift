import Policy

/// Reads the whole configuration: one call for each top-level key, then what holds between them.
struct SettingsReader {
    static let workerCountMax = 256

    let processorCount: Int

    func read(_ root: Field) -> Settings {
        root.section { section in
            var settings = Settings()
            settings.workerCount = automaticWorkerCount
            section.set("workers", &settings.workerCount, workerCount)
            section.set("limits", &settings.limits, LimitReader.limits)
            section.set("timeouts", &settings.timeouts, LimitReader.timeouts)
            section.set("rate_limits", &settings.rateLimits, RateLimitReader.limits)
            root.context.rateLimits = settings.rateLimits
            section.set("forwarded", &settings.forwarded) { $0.choice(ForwardedForm.self) }
            let listenerField = section.required("listeners")
            let listeners = listenerField.map(ListenerReader.listeners) ?? []
            settings.listeners = listeners.map(\.settings)
            section.set("apps", &settings.apps, AppReader.apps)
            root.context.apps = settings.apps
            section.set("apple", &settings.apple) { field in
                AppleReader(apps: settings.apps).apple(field).map { .some($0) }
            }
            let hasApple = section.field("apple") != nil
            section.set("device_check", &settings.deviceCheck) { field in
                DeviceCheckReader(apple: settings.apple, hasApple: hasApple).deviceCheck(field)
                    .map { .some($0) }
            }
            section.set("trust", &settings.trust, TrustReader.trust)
            let registryField = section.required("registry")
            if let registry = registryField.flatMap(StoreReader.registry) {
                settings.registry = registry
            }
            section.set("counters", &settings.counters, StoreReader.counters)
            section.set("key_cache", &settings.keyCache, StoreReader.keyCache)
            section.set("challenge", &settings.challenge, ChallengeReader.challenge)
            section.set("headers", &settings.headers, HeaderReader.headers)
            section.set("session_tokens", &settings.sessionTokens) {
                SessionTokenReader(headers: settings.headers).sessionTokens($0)
            }
            section.set("receipts", &settings.receipts, ReceiptReader.receipts)
            section.set(
                "developer_tokens", &settings.developerTokens,
                DeveloperTokenReader.developerTokens)
            section.set("secrets", &settings.secrets, ChallengeReader.secrets)
            let signals = SignalReader(
                deviceCheck: settings.deviceCheck,
                hasDeviceCheck: section.field("device_check") != nil)
            section.set("signals", &settings.signals, signals.signals)
            section.set("identity", &settings.identity, IdentityReader.identity)
            section.set("endpoints", &settings.endpoints, EndpointReader.endpoints)
            section.set("log", &settings.log, LogReader.log)
            let admin = section.field("admin").flatMap(AdminReader.admin)
            settings.admin = admin?.settings
            let upstreams = section.required("upstreams").flatMap(UpstreamReader.upstreams) ?? []
            settings.upstreams = upstreams.map(\.settings)
            let routeField = section.required("routes")
            let reader = RouteReader(
                upstreams: settings.upstreams,
                bodyByteCountMax: settings.limits.bodyByteCountMax)
            let routes = routeField.map(reader.routes) ?? []
            settings.routes = routes.map(\.route)
            let checks = CrossChecks(
                settings: settings, listeners: listeners, admin: admin, upstreams: upstreams,
                routes: routes, context: root.context)
            checks.run(
                hasApps: section.field("apps") != nil, routeField: routeField,
                registryField: registryField)
            return settings
        } ?? Settings()
    }

    /// One for each processor: what nginx and HAProxy call `auto`.
    private var automaticWorkerCount: Int { min(max(1, processorCount), Self.workerCountMax) }

    private func workerCount(_ field: Field) -> Int? {
        guard let text = field.text() else { return nil }
        if text.value == "auto" { return automaticWorkerCount }
        guard Quantity.count(text.value) != nil else {
            let ending = Suggestion.ending(for: text.value, among: ["auto"], listing: false)
            field.error("\(text.shown) is neither auto nor a number of threads\(ending)")
            return nil
        }
        return field.count(1...Self.workerCountMax, "one thread for each processor is enough")
    }
}
