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
            let userField = section.field("user")
            if let userField { signals.user = user(userField) }
            let ofUsers: [(String, WritableKeyPath<SignalSettings, SignalSettings.Rule?>, Int?)] = [
                ("keys_per_user", \.userKeys, 5), ("new_key_per_user", \.newUserKey, nil),
            ]
            for (key, path, countMax) in ofUsers {
                guard let field = section.field(key) else { continue }
                signals[keyPath: path] = rule(
                    field, countMax: countMax, window: .seconds(30 * Self.day), allowingKey: true)
                guard userField != nil else {
                    field.error("needs user: without it nobody says who the user is")
                    continue
                }
                checkSource(signals.user, signals[keyPath: path], field)
            }
            section.set("keys_per_address", &signals.addressKeys) {
                rule($0, countMax: 100, window: .seconds(Self.day), allowingKey: true)
            }
            section.set("attestations_per_address", &signals.addressAttestations) {
                rule($0, countMax: 50, window: .seconds(3600), allowingKey: false)
            }
            section.set("conflicts_per_key", &signals.keyConflicts) {
                rule($0, countMax: 3, window: .seconds(Self.day), allowingKey: true)
            }
            section.set("keys_per_device_bit", &signals.deviceBits) {
                deviceBits($0).map { .some($0) }
            }
            section.set("subjects", &signals.subjectCountMax) {
                $0.count(1024...1_000_000, "each address takes 600 bytes, each key 100")
            }
            return signals
        }
    }

    private func user(_ field: Field) -> SignalSettings.User? {
        field.section { section in
            var user = SignalSettings.User(header: "")
            let name = section.required("header").flatMap(header)
            section.set("from", &user.source) { $0.choice(SignalSettings.UserSource.self) }
            section.set("retention", &user.retention) {
                $0.duration(
                    .seconds(Self.day), .seconds(731 * Self.day),
                    "whose key it was is personal data, kept as long as it is of use")
            }
            guard let name else { return nil }
            user.header = name
            return user
        } ?? nil
    }

    private func header(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        guard HeaderReader.isName(text.value) else {
            field.error("\(text.shown) is not a header name (RFC 9110 section 5.1)")
            return nil
        }
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

    private func deviceBits(_ field: Field) -> SignalSettings.DeviceBits? {
        if !hasDeviceCheck { field.error("needs device_check: Apple is asked about devices") }
        return field.section { section in
            var signal = SignalSettings.DeviceBits()
            section.set("token", &signal.token) { $0.choice(SignalSettings.DeviceBits.Token.self) }
            if let bits = section.field("bits"), let names = deviceCheck?.bitNames {
                _ = bits.section { section in
                    for (index, name) in names.enumerated() {
                        // Any key of such a device, unless more are let.
                        section.set(name, &signal.rules[index]) { field in
                            rule(
                                field, countMax: 0, countMin: 0, window: .seconds(30 * Self.day),
                                allowingKey: true)
                        }
                    }
                }
            }
            return signal
        }
    }

    /// `countMax` nil: there is nothing to count.
    private func rule(
        _ field: Field, countMax: Int?, countMin: Int = 1, window: Duration, allowingKey: Bool
    ) -> SignalSettings.Rule? {
        field.section { section in
            var rule = SignalSettings.Rule(countMax: countMax ?? 0, window: window)
            if countMax != nil {
                section.set("max", &rule.countMax) {
                    $0.count(countMin...1_000_000, "more than so many raise the signal")
                }
            }
            section.set("window", &rule.window) {
                $0.duration(
                    .seconds(60), .seconds(366 * Self.day), "what is older does not count any more")
            }
            let words = [SignalSettings.Action.observe, .deny].map { ($0.rawValue, $0) }
            if let field = section.field("action"),
                let read = ShortfallReader.action(
                    field, words, limited: .limit, allowingKey: allowingKey)
            {
                (rule.action, rule.rateLimit) = read
            }
            return rule
        }
    }
}
