import Policy

extension SettingsReader {
    /// The keys of the whole file. What is read here depends on nothing that stands behind it, but
    /// on what is read first.
    var form: Form<Settings> {
        var start = Settings()
        start.workerCount = automaticWorkerCount
        return Form(start, first: ["headers", "limits"]) {
            Setting(
                "workers", \.workerCount, workers, standard: "auto",
                "Threads that serve connections. auto: one for each processor.")
            Setting(
                "rate_limits", \.rateLimits, RateLimitReader.kind,
                "How many requests may come. These are token buckets that all workers share, and "
                    + "that listeners, routes and endpoints name in rate_limit. Requests beyond "
                    + "a limit get 429 rate_limited with Retry-After. Two are built in, by "
                    + "address: attestation (20/s, burst 200) and challenge (200/s, burst 2000). "
                    + "An entry of the same name replaces one.")
            Setting(
                "forwarded", \.forwarded, .word,
                "How upstreams are told whom a request is for: X-Forwarded-For, -Proto and -Host, "
                    + "the Forwarded header (rfc7239), or both. What a trusted proxy sent is "
                    + "continued in its own form.")
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
            "The apps whose keys may enrol. Required as soon as a route asks for attestation.")
        Setting(
            "trust", \.trust, .section(TrustSettings.form), "Whom to trust besides Apple.")
        Setting(
            "apple", optional: \.apple, of: { AppleReader(apps: $0.apps).kind },
            "Apple's services: the keys to sign in with, and the way there. If left out, "
                + "Apple is not asked.")
        Setting(
            "device_check", optional: \.deviceCheck,
            of: { DeviceCheckReader(apple: $0.apple).kind },
            "DeviceCheck, with the keys of apple: its tokens, for devices without App Attest "
                + "on routes with accept: device_check, and the two bits that Apple keeps for "
                + "each device. If left out, neither is used.")
        Setting(
            "proofs", \.proofs,
            of: { ProofReader(apple: $0.apple, headers: $0.headers).kind },
            "Issuers of JWTs that prove something on routes with accept: proof:NAME, such as "
                + "Firebase App Check and Approov: for Android, the web, and versions of the app "
                + "without App Attest. If left out, there are none.")
    }

    @FormBuilder<Settings>
    private var stores: [Setting<Settings>] {
        Setting(
            "registry", \.registry, RegistryReader.kind, required: true,
            "Where enrolled keys are kept, durably. sqlite is for one gateway; gateways on "
                + "several machines share a PostgreSQL.")
        Setting(
            "counters", \.counterKeeping, CounterReader.kind,
            "Where assertion counters and spent challenges are kept. embedded is for one "
                + "gateway; several share a Redis.")
        Setting(
            "key_cache", \.keyCache, .section(KeyCacheSettings.form),
            "The key records that are kept in memory.")
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
            "What POST assert/token gives in exchange for an assertion, on routes with "
                + "accept: token. The tokens are signed with keys that are derived from the "
                + "challenge keys.")
        Setting(
            "receipts", \.receipts,
            .section(ReceiptSettings.form, check: ReceiptSettings.check),
            "How receipts are renewed, for apps whose team has a key in apple.keys. What "
                + "Apple then says about the device goes upstream as X-Attest-Risk. One "
                + "gateway at a time does this.")
        Setting(
            "developer_tokens", \.developerTokens, .section(DeveloperTokenSettings.form),
            "Tokens for machines without App Attest, such as simulators and CI, on routes "
                + "with accept: developer. `sallyport developer-token` makes them. They "
                + "prove nothing about an app, so check, each start, doctor and a metric "
                + "warn of such routes. They are signed with keys that are derived from the "
                + "challenge keys.")
        Setting(
            "secrets", \.secrets,
            .section(SecretSettings.form).printed { $0 != SecretSettings() },
            "The gateway's own keys. All gateways that share a Redis need the same.")
        Setting(
            "crypto", \.crypto, .section(CryptoSettings.form), "How signatures are verified.")
        Setting(
            "signals", \.signals,
            of: {
                SignalReader(deviceCheck: $0.deviceCheck, headers: $0.headers).kind
                    .printed { $0 != SignalSettings() }
            },
            "What is counted beyond signatures. Each signal is told to the upstream, and "
                + "refused with 403 if its action is deny. If left out, nothing is counted.")
        Setting(
            "identity", \.identity,
            .section(IdentitySettings.form).printed { !$0.keys.isEmpty },
            "How upstreams can tell that a request came through this gateway. "
                + "upstreams.NAME.identity says which of them get a token. If left out, they "
                + "get only X-Attest-* headers.")
        Setting(
            "endpoints", \.endpoints, .section(EndpointSettings.form),
            "What the gateway answers itself: attest/challenge, attest/verify, "
                + "attest/failure, assert/challenge, /.well-known/app-attest, and, if a route "
                + "accepts session tokens, assert/token.")
    }

    @FormBuilder<Settings>
    private var requests: [Setting<Settings>] {
        Setting(
            "headers", \.headers, HeaderReader.kind,
            "The request headers in which apps send their proofs. They are removed before a "
                + "request goes upstream, and so are X-App-Attest-* and X-Attest-*.")
        Setting(
            "upstreams", \.upstreams, UpstreamSettings.kind, required: true,
            "The servers behind the gateway, by names of your choice.")
        Setting(
            "routes", \.routes,
            of: {
                RouteReader(
                    upstreams: $0.upstreams, proofs: $0.proofs,
                    bodyByteCountMax: $0.limits.bodyByteCountMax
                ).kind
            }, required: true,
            "What is let through, and on what terms. A request that matches no route gets "
                + "404. The order makes no difference. The most specific path decides: an "
                + "exact path before /*, a longer one before a shorter one; then the host, "
                + "the method and the headers. A request whose method does not fit does not "
                + "fall through to a less specific path. `sallyport route -c FILE METHOD URL "
                + "-H 'Name: value'` explains a match.")
        Setting(
            "admin", optional: \.admin, .section(AdminSettings.form, meant: "bind"),
            "The listener for operators: /livez, /readyz, /metrics and a status page. If left "
                + "out, there is none.")
        Setting("log", \.log, .section(LogSettings.form), "Where log lines go, in JSON.")
        Setting(
            "otlp", optional: \.otlp, OTLPSettings.kind,
            "The export of spans and metrics to an OpenTelemetry collector, by OTLP over HTTP in "
                + "its JSON encoding. If left out, nothing is sent.")
        Setting(
            "capture", optional: \.capture,
            .section(CaptureSettings.form, meant: "directory"),
            "What was refused for its cryptography or structure is kept in files, so that "
                + "`sallyport explain request ID` can take it apart: attestation, assertion, "
                + "client data, challenge, and the key that they were checked with. At most 10 a "
                + "second, written by a thread of its own. If left out, nothing is kept.")
        Setting(
            "limits", \.limits, .section(Limits.form, check: Limits.check),
            "Every limit. What is beyond one is refused or waits; nothing grows without a "
                + "limit.")
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
