import Policy

/// Reads the whole configuration: one call for each top-level key, then what holds between them.
struct SettingsReader {
    static let workerCountMax = 256

    let processorCount: Int

    func read(_ root: Field) -> Settings {
        root.section { section in
            var settings = Settings()
            for key in Self.order { _ = section.field(key) }
            form.read(&section, into: &settings)
            let listenerField = section.field("listeners")
            let listeners = listenerField.map(ListenerReader.listeners) ?? []
            settings.listeners = listeners.map(\.settings)
            let sessionTokens = SessionTokenReader(headers: settings.headers).form
            section.set(
                "session_tokens", &settings.sessionTokens, Kind.section(sessionTokens).read)
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
                registryField: section.field("registry"))
            return settings
        } ?? Settings()
    }

    /// In which messages list the keys.
    private static let order = [
        "workers", "limits", "timeouts", "rate_limits", "forwarded", "listeners", "apps", "apple",
        "device_check", "trust", "registry", "counters", "key_cache", "challenge", "headers",
        "session_tokens", "receipts", "developer_tokens", "secrets", "signals", "identity",
        "endpoints", "log", "admin", "upstreams", "routes",
    ]

    /// One for each processor: what nginx and HAProxy call `auto`.
    var automaticWorkerCount: Int { min(max(1, processorCount), Self.workerCountMax) }

    func workerCount(_ field: Field) -> Int? {
        guard let text = field.text() else { return nil }
        if text.value == "auto" { return automaticWorkerCount }
        guard Quantity.count(text.value) != nil else {
            let ending = Suggestion.ending(for: text.value, among: ["auto"], listing: false)
            field.error("\(text.shown) is neither auto nor a number of threads\(ending)")
            return nil
        }
        return Self.workerNumber.read(field)
    }

    private static var workerNumber: Kind<Int> {
        .count(1...workerCountMax, "one thread for each processor is enough")
    }

    static var workerShape: Shape { .either([.words(["auto"]), workerNumber.shape]) }
}
