/// Declares `signals`.
struct SignalReader {
    /// The section `device_check`, or nil if it is missing or faulty.
    let deviceCheck: DeviceCheckSettings?
    let headers: HeaderNames

    /// A day in seconds.
    private static let day: Int64 = 24 * 3600

    var kind: Kind<SignalSettings> {
        .section(form) { section, signals in
            let hasUser = section.field("user") != nil
            for (key, rule) in [
                ("keys_per_user", signals.userKeys), ("new_key_per_user", signals.newUserKey),
            ] {
                guard let field = section.field(key) else { continue }
                if !hasUser {
                    field.error("needs user: without it the user of a request is unknown")
                } else {
                    checkSource(signals.user, rule, field)
                }
            }
        }
    }

    private var form: Form<SignalSettings> {
        Form(SignalSettings()) {
            Setting(
                "user", optional: \.user, user,
                "How the gateway learns the user.")
            Setting(
                "keys_per_user", optional: \.userKeys, rule(5, days: 30), "Keys of one user.")
            Setting(
                "new_key_per_user", optional: \.newUserKey, rule(nil, days: 30),
                "A user with another key has used this one for less than window.")
            Setting(
                "keys_per_address", optional: \.addressKeys, rule(100, days: 1),
                "Keys with requests from one address (for IPv6, one /64).")
            Setting(
                "attestations_per_address", optional: \.addressAttestations,
                rule(50, window: .seconds(3600), allowingKey: false),
                "Keys enrolled from one address. deny refuses the enrolment.")
            Setting(
                "conflicts_per_key", optional: \.keyConflicts, rule(3, days: 1),
                "Counters of a key that came again with another challenge.")
            Setting(
                "users_per_key", optional: \.keyUsers, keyUsers,
                "Users of one key: one device may sign for many.")
            Setting(
                "addresses_per_key", optional: \.keyAddresses, rule(100, days: 1),
                "Addresses (for IPv6, /64s) with requests of one key.")
            Setting(
                "networks_per_key", optional: \.keyNetworks, rule(30, days: 1),
                "Networks with requests of one key: /16s of IPv4 and /32s of IPv6.")
            Setting(
                "counter_gaps", optional: \.counterGaps, rule(100, days: 1),
                "Assertions that a key signed and this API did not accept, by the key's counter. "
                    + "Gateways that share a registry must share a Redis.")
            Setting(
                "keys_per_attestation_certificate", optional: \.certificateKeys,
                rule(100, window: .seconds(3600), allowingKey: false),
                "Android keys enrolled under one attestation certificate. A leaked one enrols "
                    + "thousands. deny refuses the enrolment.")
            Setting(
                "successions_per_installation", optional: \.installationSuccessions,
                rule(3, window: .seconds(30 * Self.day), allowingKey: false),
                "Enrolments with tickets of one installation. More than reinstalls explain: a "
                    + "ticket was copied. deny refuses the enrolment.")
            Setting(
                "keys_per_device_bit", optional: \.deviceBits, deviceBits,
                "Keys enrolled from devices with a DeviceCheck bit set, by the token that comes "
                    + "with the enrolment.")
            Setting(
                "subjects", \.subjectCountMax,
                .count(1024...1_000_000, "each takes 600 bytes, 100 if only events are counted"),
                "Addresses, and keys, that each signal remembers. A change needs a restart.")
        }
    }

    private var user: Kind<SignalSettings.User> {
        .section(
            Form(SignalSettings.User(header: "")) {
                Setting(
                    "header", \.header,
                    .header("has a meaning of its own") {
                        !HeaderReader.isReserved($0) && !$0.hasPrefix("x-app-attest-")
                    }, required: true, "The header that names the user.")
                Setting(
                    "from", \.source, .word,
                    "Whose header is believed. response: the upstream's, which removes it; not at "
                        + "check listeners. proxy: that of a peer in trusted_proxies. client: any "
                        + "client's, with action: observe only.")
                Setting(
                    "retention", \.retention,
                    .duration(
                        .seconds(Self.day), .seconds(731 * Self.day),
                        "whose key it was is personal data, kept only while it is of use"),
                    "How long the user of a key is remembered.")
            })
    }

    private var keyUsers: Kind<SignalSettings.KeyUsers> {
        let start = SignalSettings.Rule(countMax: 10, window: .seconds(Self.day))
        let form = Form(SignalSettings.KeyUsers(rule: start)) {
            Setting(
                "header", optional: \.header,
                .header(
                    "tells no user from another: name what your API knows them by, as "
                        + "Authorization, or one cookie with cookie", tellsUsersApart),
                "The request header that differs for each user; otherwise signals.user.")
            Setting(
                "cookie", optional: \.cookie,
                .text(.text("name of a cookie"), "is not the name of a cookie (RFC 6265)") {
                    HeaderReader.isName($0)
                }, "The cookie that differs for each user.")
            ruleSettings(\.rule, hasMax: true)
        }
        return .section(form) { section, _ in
            switch (section.field("header"), section.field("cookie")) {
            case (nil, nil):
                guard !section.context.has("signals.user") else { return }
                section.error(
                    "needs header, cookie or user: without one the user of a request is unknown")
            case (.some, let cookie?):
                cookie.error("excludes header: name the one that tells users apart")
            default: break
            }
        }
    }

    private func tellsUsersApart(_ folded: String) -> Bool {
        folded != "cookie" && HeaderEditReader.request.allows(folded)
            && !headers.all.contains { HeaderReader.fold($0) == folded }
    }

    /// Reports a rule that refuses requests by a user whom the client names, because a client could
    /// name another user and have that user locked out.
    private func checkSource(
        _ user: SignalSettings.User?, _ rule: SignalSettings.Rule?, _ field: Field
    ) {
        guard user?.source == .client, let rule, rule.action != .observe else { return }
        field.error(
            "action: \(rule.action.rawValue) needs user: { from: response } or { from: proxy }: "
                + "with from: client, a client could have another user refused")
    }

    private var deviceBits: Kind<SignalSettings.DeviceBits> {
        let names = deviceCheck?.bitNames ?? DeviceCheckSettings.appleBitNames
        // Any key of such a device raises the signal, unless max allows more.
        let rule = rule(0, least: 0, days: 30)
        let rules = Form(SignalSettings.DeviceBits().rules) {
            Setting(names[0], optional: \.[0], rule, "The first bit.")
            Setting(names[1], optional: \.[1], rule, "The second bit.")
        }
        let form = Form(SignalSettings.DeviceBits()) {
            Setting(
                "token", \.token, .word,
                "required: an enrolment without a good token is refused.")
            Setting(
                "bits", \.rules,
                Kind(.named("BIT", rule.shape)) { bits in
                    guard deviceCheck != nil else { return nil }
                    return Kind.section(rules).read(bits)
                } yaml: {
                    $0.contains { $0 != nil } ? rules.yaml($0) : .absent
                },
                "The rules, by the names in device_check.bits.")
        }
        return .section(form) { section, _ in
            if !section.context.has("device_check") {
                section.error("needs device_check, by which Apple is asked about devices")
            }
        }
    }

    /// `countMax`: nil for a signal without a count.
    private func rule(
        _ countMax: Int?, least: Int = 1, days: Int64
    ) -> Kind<SignalSettings.Rule> {
        rule(countMax, least: least, window: .seconds(days * Self.day), allowingKey: true)
    }

    private func rule(
        _ countMax: Int?, least: Int = 1, window: Duration, allowingKey: Bool
    ) -> Kind<SignalSettings.Rule> {
        let start = SignalSettings.Rule(countMax: countMax ?? 0, window: window)
        return .section(
            Form(start) {
                ruleSettings(
                    \.self, hasMax: countMax != nil, least: least, allowingKey: allowingKey)
            })
    }

    /// The settings of a rule that is kept at `path`.
    @FormBuilder<Root>
    private func ruleSettings<Root>(
        _ path: WritableKeyPath<Root, SignalSettings.Rule>, hasMax: Bool, least: Int = 1,
        allowingKey: Bool = true
    ) -> [Setting<Root>] {
        let max = Setting<Root>(
            "max", path.appending(path: \.countMax),
            .count(least...1_000_000, "only higher counts raise the signal"),
            "The most that is normal." + (least == 0 ? " 0: any such key raises the signal." : ""))
        let action = LimitedAction<SignalSettings.Action>.kind(
            [.observe, .deny], limited: .limit, allowingKey: allowingKey)
        hasMax ? [max] : []
        Setting(
            "window", path.appending(path: \.window),
            .duration(
                .seconds(60), .seconds(366 * Self.day),
                "anything older does not count"),
            "The time that counts.")
        Setting(
            "action", path.appending(path: \.limitedAction), action,
            "observe: the upstream is told. deny: 403. { limit: NAME }: that limit counts it too.")
    }
}

extension SignalSettings.Rule {
    fileprivate var limitedAction: LimitedAction<SignalSettings.Action> {
        get { LimitedAction(action: action, limit: rateLimit) }
        set { (action, rateLimit) = (newValue.action, newValue.limit) }
    }
}
