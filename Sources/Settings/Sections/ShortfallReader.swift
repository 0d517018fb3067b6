import Policy
import YAML

/// Reads what becomes of requests that fall short of what a route demands.
struct ShortfallReader {
    /// False where `accept` is faulty: nothing is concluded from it.
    let isAcceptKnown: Bool

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
        let tiers = TrustTier.allCases.reversed().map { ($0.name.description, $0) }
        if let field = tierField, let tier = field.choice(tiers) {
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
