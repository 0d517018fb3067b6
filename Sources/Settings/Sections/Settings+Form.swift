import Policy

extension SettingsReader {
    /// The keys of the whole file. A setting may depend on those before it and on those that are
    /// read first.
    var form: Form<Settings> {
        var start = Settings()
        start.workerCount = automaticWorkerCount
        return Form(start, first: ["headers", "limits"]) {
            Setting(
                "workers", \.workerCount, workers, standard: "auto",
                "Threads that serve connections. auto: one for each processor.")
            Setting(
                "rate_limits", \.rateLimits, RateLimitReader.kind,
                "Token buckets, named by rate_limit of listeners, routes and endpoints. More "
                    + "requests get 429 rate_limited with Retry-After. Two are built in, by "
                    + "address: attestation (20/s, burst 200) and challenge (200/s, burst 2000). "
                    + "An entry of the same name replaces one.")
            Setting(
                "quotas", \.quotas, QuotaReader.kind,
                "What one sender may use in a calendar period, named by quota of routes. More "
                    + "requests get 429 quota_exhausted until the period ends.")
            Setting(
                "forwarded", \.forwarded, .word,
                "Headers that tell upstreams the client: X-Forwarded-For, -Proto and -Host, "
                    + "Forwarded (rfc7239), or both. Those of a trusted proxy are continued.")
            Setting(
                "listeners", \.listeners, ListenerReader.kind, required: true,
                "Where clients connect. At least one.")
            trust
            stores
            tokens
            requests
        }
    }

    @FormBuilder<Settings>
    private var trust: [Setting<Settings>] {
        Setting(
            "apps", \.apps, AppReader.kind,
            "The apps whose keys may enrol. Required if a route asks for attestation.")
        Setting(
            "trust", \.trust, .section(TrustSettings.form), "Whom to trust besides Apple.")
        Setting(
            "apple", optional: \.apple, of: { AppleReader(apps: $0.apps).kind },
            "How Apple's services are reached. If left out, Apple is not asked.")
        Setting(
            "device_check", optional: \.deviceCheck,
            of: { DeviceCheckReader(apple: $0.apple).kind },
            "DeviceCheck's tokens, on routes with accept: device_check, and its two bits for each "
                + "device. Needs apple.")
        Setting(
            "proofs", \.proofs,
            of: { ProofReader(apple: $0.apple, headers: $0.headers).kind },
            "Issuers of JWTs for routes with accept: proof:NAME, such as Firebase App Check and "
                + "Approov.")
    }

    @FormBuilder<Settings>
    private var stores: [Setting<Settings>] {
        Setting(
            "registry", \.registry, RegistryReader.kind, required: true,
            "Where enrolled keys are kept. sqlite is for one gateway; gateways on several machines "
                + "share a PostgreSQL.")
        Setting(
            "counters", \.counterKeeping, CounterReader.kind,
            "Where assertion counters and spent challenges are kept. embedded is for one gateway; "
                + "several share a Redis.")
        Setting(
            "key_cache", \.keyCache, .section(KeyCacheSettings.form),
            "The key records kept in memory.")
    }

    @FormBuilder<Settings>
    private var tokens: [Setting<Settings>] {
        Setting(
            "challenge", \.challenge, .section(ChallengeSettings.form),
            "The lifetimes of "
                + "challenges.")
        Setting(
            "session_tokens", \.sessionTokens,
            of: { .section(SessionTokenReader(headers: $0.headers).form) },
            "What POST assert/token gives for an assertion, on routes with accept: token.")
        Setting(
            "receipts", \.receipts,
            .section(ReceiptSettings.form, check: ReceiptSettings.check),
            "How receipts are renewed, for apps whose team has a key in apple.keys. Apple's answer "
                + "goes upstream as X-Attest-Risk.")
        Setting(
            "developer_tokens", \.developerTokens, .section(DeveloperTokenSettings.form),
            "Tokens for simulators and CI, on routes with accept: developer, made by `sallyport "
                + "developer-token`. They prove nothing about an app, so check, each start, doctor "
                + "and a metric warn of such routes.")
        Setting(
            "secrets", \.secrets,
            .section(SecretSettings.form).printed { $0 != SecretSettings() },
            "The gateway's own keys, the same for all gateways that share a Redis.")
        Setting(
            "crypto", \.crypto, .section(CryptoSettings.form), "How signatures are verified.")
        Setting(
            "signals", \.signals,
            of: {
                SignalReader(deviceCheck: $0.deviceCheck, headers: $0.headers).kind
                    .printed { $0 != SignalSettings() }
            },
            "What is counted beyond signatures, and told to the upstream.")
        Setting(
            "identity", \.identity,
            .section(IdentitySettings.form).printed { !$0.keys.isEmpty },
            "Tokens that prove to upstreams that a request came through this gateway: see "
                + "upstreams.NAME.identity.")
        Setting(
            "endpoints", \.endpoints, .section(EndpointSettings.form),
            "What the gateway answers itself.")
    }

    @FormBuilder<Settings>
    private var requests: [Setting<Settings>] {
        Setting(
            "headers", \.headers, HeaderReader.kind,
            "The request headers of proofs. They do not go upstream, nor do X-App-Attest-* and "
                + "X-Attest-*.")
        Setting(
            "upstreams", \.upstreams, UpstreamSettings.kind, required: true,
            "The servers behind the gateway.")
        Setting(
            "routes", \.routes,
            of: {
                RouteReader(
                    upstreams: $0.upstreams, proofs: $0.proofs,
                    bodyByteCountMax: $0.limits.bodyByteCountMax
                ).kind
            }, required: true,
            "What is let through. A request that matches no route gets 404. The most specific path "
                + "decides, whatever the order of routes; then the host, the method and the "
                + "headers. `sallyport route -c FILE METHOD URL -H 'Name: value'` explains a "
                + "match.")
        Setting(
            "admin", optional: \.admin, .section(AdminSettings.form, meant: "bind"),
            "The listener for operators: probes, metrics and a status page. If left out, none.")
        Setting("log", \.log, .section(LogSettings.form), "Where log lines go, in JSON.")
        Setting(
            "otlp", optional: \.otlp, OTLPSettings.kind,
            "Export of spans and metrics to an OpenTelemetry collector, by OTLP over HTTP in JSON.")
        Setting(
            "capture", optional: \.capture,
            .section(CaptureSettings.form, meant: "directory"),
            "Keeps objects that were refused for their cryptography or structure in files, so that "
                + "`sallyport explain request ID` can take them apart. At most 10 a second.")
        Setting(
            "limits", \.limits, .section(Limits.form, check: Limits.check),
            "Every limit. What is beyond one is refused or waits.")
        Setting(
            "timeouts", \.timeouts, .section(Timeouts.form), "How long the gateway waits.")
    }
}

extension KeyCacheSettings {
    static var form: Form<KeyCacheSettings> {
        Form(KeyCacheSettings()) {
            Setting(
                "records", \.recordCountMax,
                .count(1...50_000_000, "each record takes about 200 bytes in each worker"),
                "Key records that each worker keeps in memory.")
        }
    }
}
