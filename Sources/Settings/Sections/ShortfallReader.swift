import Policy
import YAML

/// Reads what becomes of requests that fall short of what a route demands.
struct ShortfallReader {
    /// False where `accept` is faulty: nothing is concluded from it.
    let isAcceptKnown: Bool

    static var entries: [Entry] {
        [
            Entry(
                "on_missing", .action(["deny", "pass"]), standard: "deny",
                "What enforce does with a request without any proof: refused, or forwarded as "
                    + "X-Attest-Result: missing."),
            Entry(
                "on_invalid", .action(["deny", "pass"]), standard: "deny",
                "What enforce does with a proof that does not hold: refused, or forwarded as "
                    + "X-Attest-Result: invalid."),
            Entry(
                "on_store_failure", .action(["deny", "tokens_only", "pass"]), standard: "deny",
                "What becomes of a request that cannot be judged because a store does not answer. "
                    + "deny: 503. tokens_only: session tokens count all the same. pass: whoever "
                    + "can bring the store down gets through."),
            Entry(
                "min_tier", .words(tiers.map(\.0)), standard: "none",
                "What a proof must be worth: attested (an assertion), device_check, token, none."),
            Entry(
                "on_lower_tier", .action(["deny", "pass"]), standard: "deny",
                "What becomes of a proof below min_tier."),
        ]
    }

    private static var tiers: [(String, TrustTier)] {
        TrustTier.allCases.reversed().map { ($0.name.description, $0) }
    }

    func read(
        _ section: inout Section, into policy: inout AttestPolicy, _ limits: inout ShortfallLimits
    ) {
        if let field = section.field("on_missing"), let read = Self.action(field) {
            (policy.onMissing, limits.missing) = read
        }
        if let field = section.field("on_invalid"), let read = Self.action(field) {
            (policy.onInvalid, limits.invalid) = read
        }
        readStoreFailure(&section, into: &policy, &limits)
        readTier(&section, into: &policy, &limits)
    }

    private func readStoreFailure(
        _ section: inout Section, into policy: inout AttestPolicy, _ limits: inout ShortfallLimits
    ) {
        guard let field = section.field("on_store_failure") else { return }
        let words = StoreFailurePolicy.allCases.filter { $0 != .limit }.map { ($0.rawValue, $0) }
        guard let read = Self.action(field, words, limited: .limit, allowingKey: false) else {
            return
        }
        (policy.onStoreFailure, limits.storeFailure) = read
        if policy.onStoreFailure == .tokensOnly, isAcceptKnown, !policy.accept.contains(.token) {
            field.error("tokens_only needs accept: [assertion, token]")
        }
    }

    private func readTier(
        _ section: inout Section, into policy: inout AttestPolicy, _ limits: inout ShortfallLimits
    ) {
        let tierField = section.field("min_tier")
        if let field = tierField, let tier = field.choice(Self.tiers) {
            policy.minTier = tier
            if isAcceptKnown, tier > policy.accept.highestTier {
                field.error(
                    "no proof that accept names is worth \(tier.name): each request would fall "
                        + "short")
            }
        }
        guard let field = section.field("on_lower_tier") else { return }
        if tierField == nil {
            field.error("is used with min_tier only", at: field.keyMark)
        } else if let read = Self.action(field, allowingKey: true) {
            (policy.onLowerTier, limits.lowerTier) = read
        }
    }

    /// `deny`, `pass`, or `{ limit: NAME }`.
    private static func action(
        _ field: Field, allowingKey: Bool = false
    ) -> (ShortfallAction, String?)? {
        let words = [ShortfallAction.deny, .pass].map { ($0.rawValue, $0) }
        return action(field, words, limited: .limit, allowingKey: allowingKey)
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
