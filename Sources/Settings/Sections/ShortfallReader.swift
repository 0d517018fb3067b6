import Policy
import YAML

/// Reads what becomes of requests that fall short of what a route demands.
enum ShortfallReader {
    static var form: Form<PlacedPolicy> {
        Form(PlacedPolicy()) {
            setting(
                "on_missing", \.policy.onMissing, \.restrictions.limits.missing,
                "What enforce does with a request without any proof: refused, or forwarded as "
                    + "X-Attest-Result: missing.")
            setting(
                "on_invalid", \.policy.onInvalid, \.restrictions.limits.invalid,
                "What enforce does with a proof that does not hold: refused, or forwarded as "
                    + "X-Attest-Result: invalid.")
            Setting(
                "on_store_failure", .action(["deny", "tokens_only", "pass"]),
                "What becomes of a request that cannot be judged because a store does not answer. "
                    + "deny: 503. tokens_only: session tokens count all the same. pass: whoever "
                    + "can bring the store down gets through.", read: readStoreFailure
            ) { placed, yaml in
                write(
                    "on_store_failure", placed.policy.onStoreFailure.rawValue,
                    placed.restrictions.limits.storeFailure, to: &yaml)
            }
            Setting(
                "min_tier", tier.shape,
                "What a proof must be worth: attested (an assertion), device_check, token, none."
            ) { section, placed in
                guard let field = section.field("min_tier"), let read = tier.read(field) else {
                    return
                }
                placed.policy.minTier = read
                if placed.isAcceptKnown, read > placed.policy.accept.highestTier {
                    field.error(
                        "no proof that accept names is worth \(read.name): each request would "
                            + "fall short")
                }
            } write: { placed, yaml in
                tier.write("min_tier", placed.policy.minTier, &yaml)
            }
            setting(
                "on_lower_tier", \.policy.onLowerTier, \.restrictions.limits.lowerTier,
                "What becomes of a proof below min_tier.", needed: "min_tier")
        }
    }

    private static var tier: Kind<TrustTier> {
        .words(TrustTier.allCases.reversed().map { ($0.name.description, $0) })
    }

    /// `deny`, `pass`, or `{ limit: NAME }`; by a key where one is verified.
    private static func setting(
        _ key: String, _ action: WritableKeyPath<PlacedPolicy, ShortfallAction>,
        _ limit: WritableKeyPath<PlacedPolicy, String?>, _ about: String, needed: String? = nil
    ) -> Setting<PlacedPolicy> {
        Setting(key, .action(["deny", "pass"]), about) { section, placed in
            guard let field = section.field(key) else { return }
            if let needed, section.field(needed) == nil {
                return field.error("is used with \(needed) only", at: field.keyMark)
            }
            let words = [ShortfallAction.deny, .pass].map { ($0.rawValue, $0) }
            let read = self.action(field, words, limited: .limit, allowingKey: needed != nil)
            guard let read else { return }
            (placed[keyPath: action], placed[keyPath: limit]) = read
        } write: { placed, yaml in
            write(key, placed[keyPath: action].rawValue, placed[keyPath: limit], to: &yaml)
        }
    }

    private static func readStoreFailure(_ section: inout Section, _ placed: inout PlacedPolicy) {
        guard let field = section.field("on_store_failure") else { return }
        let words = StoreFailurePolicy.allCases.filter { $0 != .limit }.map { ($0.rawValue, $0) }
        guard let read = action(field, words, limited: .limit, allowingKey: false) else { return }
        (placed.policy.onStoreFailure, placed.restrictions.limits.storeFailure) = read
        if read.action == .tokensOnly, placed.isAcceptKnown, !placed.policy.accept.contains(.token)
        {
            field.error("tokens_only needs accept: [assertion, token]")
        }
    }

    /// One of `words`, or `{ limit: NAME }`, which stands for `limited`.
    static func action<Value>(
        _ field: Field, _ words: [(name: String, value: Value)], limited: Value, allowingKey: Bool
    ) -> (action: Value, limit: String?)? {
        if field.isMapping {
            return limit(field, allowingKey: allowingKey).map { (limited, $0) }
        }
        return word(field, words).map { ($0, nil) }
    }

    /// An action; as `{ limit: NAME }` where it has a limit.
    static func write(
        _ key: String, _ action: String, _ limit: String?, to yaml: inout YAMLText
    ) {
        if let limit {
            yaml.mapping(key) { $0.entry("limit", text: limit) }
        } else {
            yaml.entry(key, action)
        }
    }

    /// One of the words that stand for themselves.
    private static func word<Value>(_ field: Field, _ words: [(name: String, value: Value)])
        -> Value?
    {
        if case .scalar("limit", _) = field.node.kind {
            field.error("limit needs the name of a rate limit: write { limit: NAME }")
            return nil
        }
        return field.choice(words)
    }

    /// `{ limit: NAME }`.
    private static func limit(_ field: Field, allowingKey: Bool) -> String? {
        let name = field.section { section in
            section.required("limit").flatMap { $0.rateLimitName(allowingKey: allowingKey) }
        }
        return name ?? nil
    }
}

extension Shape {
    /// One of `words`, `{ limit: NAME }`, or another section.
    static func action(_ words: [String], _ others: [Entry] = []) -> Shape {
        let limit = Entry(
            "limit", .text("name of rate_limits"), required: true, "Forwarded within that limit.")
        return .either([.words(words)] + ([limit] + others).map { .section([$0]) })
    }
}
