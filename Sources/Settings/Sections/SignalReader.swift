/// Reads `signals`.
struct SignalReader {
    /// Nil where it is missing or faulty.
    let deviceCheck: DeviceCheckSettings?
    let hasDeviceCheck: Bool

    /// Days in hours: what is written without thinking, and months.
    private static let day: Int64 = 24 * 3600

    func signals(_ field: Field) -> SignalSettings? {
        field.section { section in
            var signals = SignalSettings()
            form.read(&section, into: &signals)
            let hasUser = section.field("user") != nil
            for (key, rule) in [
                ("keys_per_user", signals.userKeys), ("new_key_per_user", signals.newUserKey),
            ] {
                guard let field = section.field(key) else { continue }
                if !hasUser {
                    field.error("needs user: without it nobody says who the user is")
                } else {
                    checkSource(signals.user, rule, field)
                }
            }
            return signals
        }
    }

    var form: Form<SignalSettings> {
        Form(SignalSettings()) {
            Setting(
                "user", optional: \.user, user,
                "How the gateway learns who the user is. Left out: not at all.")
            Setting(
                "keys_per_user", optional: \.userKeys, rule(5, days: 30), "Keys of one user.")
            Setting(
                "new_key_per_user", optional: \.newUserKey, rule(nil, days: 30),
                "A user with another key uses this one for less than window.")
            Setting(
                "keys_per_address", optional: \.addressKeys, rule(100, days: 1),
                "Keys with requests from one address (of IPv6: one /64).")
            Setting(
                "attestations_per_address", optional: \.addressAttestations,
                rule(50, window: .seconds(3600), allowingKey: false),
                "Keys enrolled from one address; deny refuses the enrolment.")
            Setting(
                "conflicts_per_key", optional: \.keyConflicts, rule(3, days: 1),
                "Counters of a key that came again with another challenge.")
            Setting(
                "keys_per_device_bit", optional: \.deviceBits, deviceBits,
                "Keys enrolled from devices that have a bit of DeviceCheck set. Apple is asked at "
                    + "each enrolment, by the token that comes with it.")
            Setting(
                "subjects", \.subjectCountMax,
                .count(1024...1_000_000, "each address takes 600 bytes, each key 100"),
                "Addresses, and keys, of which something is remembered in memory. Read at the "
                    + "start only.")
        }
    }

    private var user: Kind<SignalSettings.User> {
        let form = Form(SignalSettings.User(header: "")) {
            Setting(
                "header", shown: \.header, .header, required: true,
                "The header that names the user.")
            Setting(
                "from", \.source, .word,
                "Whose word is taken: the upstream's, in its answers; that of a peer in "
                    + "trusted_proxies; or anybody's (action: observe only).")
            Setting(
                "retention", \.retention,
                .duration(
                    .seconds(Self.day), .seconds(731 * Self.day),
                    "whose key it was is personal data, kept as long as it is of use"),
                "How long it is remembered who used a key.")
        }
        return Kind.section(form).reading { field in
            field.section { section in
                var user = form.start
                let name = section.required("header").flatMap(header)
                form.read(&section, into: &user)
                guard let name else { return nil }
                user.header = name
                return user
            } ?? nil
        }
    }

    private func header(_ field: Field) -> String? {
        guard let text = field.headerName() else { return nil }
        let name = text.value.lowercased()
        let folded = HeaderReader.fold(name)
        guard !HeaderReader.isReserved(folded), !folded.hasPrefix("x-app-attest-") else {
            field.error("\(text.shown) has a meaning of its own")
            return nil
        }
        return name
    }

    /// Whoever can name another user in a request could get him locked out.
    private func checkSource(
        _ user: SignalSettings.User?, _ rule: SignalSettings.Rule?, _ field: Field
    ) {
        guard user?.source == .client, let rule, rule.action != .observe else { return }
        field.error(
            "action: \(rule.action.rawValue) needs user: { from: response } or { from: proxy }: "
                + "with from: client anybody could have another user refused")
    }

    private var deviceBits: Kind<SignalSettings.DeviceBits> {
        let names = deviceCheck?.bitNames ?? DeviceCheckSettings.appleBitNames
        // Any key of such a device, unless more are let.
        let rule = rule(0, least: 0, days: 30)
        let form = Form(SignalSettings.DeviceBits()) {
            Setting(
                "token", \.token, .word,
                "required: an enrolment without a good token is refused. optional: its device is "
                    + "not known.")
            Setting(
                "bits", .named("BIT", rule.shape), "The rules, by the names of device_check.bits."
            ) { section, signal in
                guard let bits = section.field("bits"), deviceCheck != nil else { return }
                _ = bits.section { section in
                    for (index, name) in names.enumerated() {
                        section.set(name, &signal.rules[index]) { rule.read($0) }
                    }
                }
            } write: { signal, yaml in
                guard signal.rules.contains(where: { $0 != nil }) else { return }
                yaml.mapping("bits") { yaml in
                    for case (let name, let value?) in zip(names, signal.rules) {
                        rule.write(name, value, &yaml)
                    }
                }
            }
        }
        return Kind.section(form).reading { field in
            if !hasDeviceCheck { field.error("needs device_check: Apple is asked about devices") }
            return Kind.section(form).read(field)
        }
    }

    /// `countMax` nil: there is nothing to count.
    private func rule(
        _ countMax: Int?, least: Int = 1, days: Int64
    ) -> Kind<SignalSettings.Rule> {
        rule(countMax, least: least, window: .seconds(days * Self.day), allowingKey: true)
    }

    private func rule(
        _ countMax: Int?, least: Int = 1, window: Duration, allowingKey: Bool
    ) -> Kind<SignalSettings.Rule> {
        let start = SignalSettings.Rule(countMax: countMax ?? 0, window: window)
        let max = Setting<SignalSettings.Rule>(
            "max", \.countMax, .count(least...1_000_000, "more than so many raise the signal"),
            "More than so many raise the signal.")
        let rest = Form(start) {
            Setting(
                "window", \.window,
                .duration(
                    .seconds(60), .seconds(366 * Self.day),
                    "what is older does not count any more"),
                "What is older does not count.")
            Setting(
                "action", .action(["observe", "deny"]), standard: "observe",
                "What follows: it is told to the upstream, refused with 403, or counted against a "
                    + "rate limit as well."
            ) { section, rule in
                let words = [SignalSettings.Action.observe, .deny].map { ($0.rawValue, $0) }
                if let field = section.field("action"),
                    let read = ShortfallReader.action(
                        field, words, limited: .limit, allowingKey: allowingKey)
                {
                    (rule.action, rule.rateLimit) = read
                }
            } write: { rule, yaml in
                ShortfallReader.write("action", rule.action.rawValue, rule.rateLimit, to: &yaml)
            }
        }
        guard countMax != nil else { return .section(rest) }
        return .section(
            Form(start) {
                max
                rest
            })
    }
}
