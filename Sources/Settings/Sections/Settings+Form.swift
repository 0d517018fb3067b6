import Policy

extension SettingsReader {
    /// The keys of the whole file. What is read here depends on nothing that stands behind it.
    var form: Form<Settings> {
        Form(Settings()) {
            Setting(
                "workers", Self.workerShape, standard: "auto",
                "Threads that serve connections, one a processor."
            ) { section, settings in
                settings.workerCount = automaticWorkerCount
                section.set("workers", &settings.workerCount, workerCount)
            } write: { settings, yaml in
                yaml.entry("workers", "\(settings.workerCount)")
            }
            Setting(
                "rate_limits", \.rateLimits, RateLimitReader.kind,
                "How many requests may come: token buckets, shared by all workers, that listeners, "
                    + "routes and endpoints name in rate_limit. Beyond, the answer is 429. "
                    + "challenge and attestation are built in; an entry of that name replaces one.")
            Setting(
                "forwarded", \.forwarded, .word,
                "How upstreams are told for whom a request comes: X-Forwarded-*, Forwarded, or "
                    + "both.")
            Setting(
                "listeners", ListenerReader.shape, required: true,
                "Where clients connect; at least one."
            ) { section, _ in
                _ = section.required("listeners")
            } write: { settings, yaml in
                ListenerReader.write(settings.listeners, to: &yaml)
            }
            trust
            stores
            tokens
            requests
        }
    }

    private var trust: Form<Settings> {
        Form(Settings()) {
            Setting(
                "apps", .list(AppReader.form.shape),
                "The apps whose keys may enrol; required as soon as a route asks for attestation."
            ) { section, settings in
                section.set("apps", &settings.apps, AppReader.apps)
            } write: { settings, yaml in
                yaml.list("apps", settings.apps) { AppReader.form.write($1, to: &$0) }
            }
            Setting(
                "trust", \.trust, .section(TrustReader.form), "Whom to believe besides Apple.")
            Setting(
                "apple", AppleReader.shape,
                "Apple's own services: who signs in, and the way there. Left out: not asked."
            ) { section, settings in
                let reader = AppleReader(apps: settings.apps)
                settings.apple = section.field("apple").flatMap(reader.apple)
            } write: { settings, yaml in
                if let apple = settings.apple { AppleReader.write(apple, to: &yaml) }
            }
            Setting(
                "device_check", DeviceCheckReader.form.shape,
                "DeviceCheck, with the keys of apple: tokens of devices without App Attest, and "
                    + "the two bits that Apple keeps for each device. Left out: not used."
            ) { section, settings in
                let reader = DeviceCheckReader(
                    apple: settings.apple, hasApple: section.field("apple") != nil)
                settings.deviceCheck = section.field("device_check").flatMap(reader.deviceCheck)
            } write: { settings, yaml in
                if let deviceCheck = settings.deviceCheck {
                    DeviceCheckReader.write(deviceCheck, to: &yaml)
                }
            }
        }
    }

    private var stores: Form<Settings> {
        Form(Settings()) {
            Setting(
                "registry", StoreReader.registryShape, required: true,
                "Where enrolled keys are kept, durably."
            ) { section, settings in
                if let registry = section.required("registry").flatMap(StoreReader.registry) {
                    settings.registry = registry
                }
            } write: { settings, yaml in
                StoreReader.write(settings.registry, to: &yaml)
            }
            Setting(
                "counters", .either([.words(["embedded"]), RedisReader.shape]),
                "Where assertion counters and spent challenges are kept. embedded is for one "
                    + "gateway; several share a Redis."
            ) { section, settings in
                section.set("counters", &settings.counters, StoreReader.counters)
            } write: { settings, yaml in
                StoreReader.write(settings.counters, to: &yaml)
            }
            Setting(
                "key_cache", \.keyCache, .section(KeyCacheSettings.form),
                "Key records kept in memory.")
        }
    }

    private var tokens: Form<Settings> {
        let sessionTokens = Kind.section(SessionTokenReader(headers: HeaderNames()).form)
        return Form(Settings()) {
            Setting(
                "challenge", \.challenge, .section(ChallengeSettings.form), "Lives of challenges.")
            Setting(
                "session_tokens", sessionTokens.shape,
                "What POST assert/token gives in exchange for an assertion, for routes with "
                    + "accept: token."
            ) { settings, yaml in
                sessionTokens.write("session_tokens", settings.sessionTokens, &yaml)
            }
            Setting(
                "receipts", \.receipts,
                .section(ReceiptSettings.form, check: ReceiptSettings.check),
                "How receipts are renewed, of apps whose team has a key in apple.keys: what Apple "
                    + "then says of the device goes to upstreams as X-Attest-Risk.")
            Setting(
                "developer_tokens", \.developerTokens, .section(DeveloperTokenSettings.form),
                "Tokens for machines without App Attest (simulators, CI), for routes with accept: "
                    + "developer. They prove nothing of an app.")
            Setting(
                "secrets", \.secrets,
                .section(SecretSettings.form).printed { $0 != SecretSettings() },
                "Keys of the gateway's own. All gateways that share a Redis need the same.")
            Setting(
                "signals", SignalReader(deviceCheck: nil, hasDeviceCheck: false).form.shape,
                "What is counted beyond signatures, told to upstreams, and refused with 403 if "
                    + "action is deny."
            ) { section, settings in
                let reader = SignalReader(
                    deviceCheck: settings.deviceCheck,
                    hasDeviceCheck: section.field("device_check") != nil)
                section.set("signals", &settings.signals, reader.signals)
            } write: { settings, yaml in
                guard settings.signals != SignalSettings() else { return }
                let reader = SignalReader(deviceCheck: settings.deviceCheck, hasDeviceCheck: true)
                yaml.mapping("signals") { reader.form.write(settings.signals, to: &$0) }
            }
            Setting(
                "identity", \.identity,
                .section(IdentitySettings.form).printed { !$0.keys.isEmpty },
                "By what upstreams can tell that a request came through here. Which get a token "
                    + "says upstreams.NAME.identity. Left out: X-Attest-* fields alone.")
            Setting(
                "endpoints", \.endpoints, .section(EndpointSettings.form),
                "What the gateway answers itself: challenges, attestations and tokens.")
        }
    }

    private var requests: Form<Settings> {
        Form(Settings()) {
            Setting(
                "headers", \.headers, HeaderReader.kind,
                "Request headers in which apps send their proofs. They are removed before a "
                    + "request goes upstream, as are X-App-Attest-* and X-Attest-*.")
            Setting(
                "upstreams", .named("NAME", UpstreamReader.form.shape), required: true,
                "The servers behind the gateway, by names of your choice."
            ) { settings, yaml in
                yaml.mapping("upstreams") { yaml in
                    for upstream in settings.upstreams {
                        yaml.mapping(YAMLText.scalar(upstream.name)) {
                            UpstreamReader.form.write(upstream, to: &$0)
                        }
                    }
                }
            }
            Setting(
                "routes", RouteReader.shape, required: true,
                "What is let through, and at what price. Requests that match no route get 404. "
                    + "The most specific path decides; the order means nothing."
            ) { settings, yaml in
                yaml.list("routes", settings.routes) {
                    SettingsPrinter.write($1, settings, to: &$0)
                }
            }
            Setting(
                "admin", AdminReader.shape,
                "/livez, /readyz, /metrics and a status page, for operators only. Left out: none."
            ) { settings, yaml in
                guard let admin = settings.admin else { return }
                yaml.mapping("admin") { $0.entry("bind", text: admin.bind.description) }
            }
            Setting("log", \.log, .section(LogSettings.form), "Where JSON lines go.")
            Setting(
                "limits", \.limits, .section(Limits.form, check: Limits.check),
                "Every bound. What is beyond is refused or waits; nothing grows without one.")
            Setting(
                "timeouts", \.timeouts, .section(Timeouts.form), "How long the gateway waits.")
        }
    }
}
