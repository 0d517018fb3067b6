import Policy

/// The treatment of requests that fall short of a route's demands: an action, or a rate limit.
struct LimitedAction<Action: RawRepresentable & Equatable> where Action.RawValue == String {
    var action: Action
    /// The name of the limit, if the action is to keep to one.
    var limit: String?

    /// One of `words`, or `{ limit: NAME }`, which stands for `limited`. `allowingKey`: true if the
    /// limit may be by key.
    static func kind(
        _ words: [Action], limited: Action, allowingKey: Bool
    ) -> Kind<LimitedAction> {
        let limit = Kind.section(
            "limit", .rateLimit(allowingKey: allowingKey),
            "Forwarded within this limit; more get 429."
        ).map({ LimitedAction(action: limited, limit: $0) }, from: { $0.limit })
        return Kind.words(words.map { ($0.rawValue, $0) })
            .map({ LimitedAction(action: $0) }, from: { $0.limit == nil ? $0.action : nil })
            .or(
                limit,
                hint: ("limit", "needs the name of a rate limit: write { limit: NAME }"))
    }
}

/// Declares the treatment of requests that fall short.
enum ShortfallReader {
    @FormBuilder<Route>
    static var settings: [Setting<Route>] {
        let action = LimitedAction<ShortfallAction>.kind(
            [.deny, .pass], limited: .limit, allowingKey: false)
        Setting(
            "on_missing", \.attest.missingAction, action,
            "What enforce does with a request without proof. pass: it is forwarded with "
                + "X-Attest-Result: missing.")
        Setting(
            "on_invalid", \.attest.invalidAction, action,
            "What enforce does with a proof that does not hold. pass: it is forwarded with "
                + "X-Attest-Result: invalid.")
        Setting(
            "on_store_failure", \.attest.storeFailureAction,
            LimitedAction<StoreFailurePolicy>.kind(
                [.deny, .tokensOnly, .pass], limited: .limit, allowingKey: false),
            "What happens if a store does not answer. deny: 503. tokens_only: 503, but session "
                + "tokens count, although their keys may be revoked. pass: the request is "
                + "forwarded as unverified, so a client that brings the store down gets through. "
                + "The gateway's own limits always give 503 or 429.")
        Setting(
            "min_tier", \.attest.minTier,
            .words(TrustTier.allCases.reversed().map { ($0.name.description, $0) }),
            "What a proof must be worth: attested (an assertion), device_check, token, foreign (a "
                + "token of another issuer), or none.")
        Setting(
            "on_lower_tier", \.attest.lowerTierAction,
            LimitedAction.kind([.deny, .pass], limited: .limit, allowingKey: true),
            "What happens to a proof below min_tier. deny: assertion_required. pass: it is "
                + "forwarded as verified, with its X-Attest-Tier.")
    }

    /// Reports treatments that do not fit the accepted proofs.
    static func check(_ section: inout Section, _ policy: RoutePolicy) {
        if section.field("min_tier") == nil {
            section.refuse(["on_lower_tier"], "is used with min_tier only")
        }
        guard !section.isFaulty("accept") else { return }
        if policy.onStoreFailure == .tokensOnly, !policy.accept.contains(.token) {
            section.field("on_store_failure")?.error("tokens_only needs accept: [assertion, token]")
        }
        if policy.minTier > policy.highestTier {
            section.field("min_tier")?.error(
                "no proof that accept names is worth \(policy.minTier.name): each request would "
                    + "fall short")
        }
    }
}

extension RoutePolicy {
    fileprivate var missingAction: LimitedAction<ShortfallAction> {
        get { LimitedAction(action: onMissing, limit: limits.missing) }
        set { (onMissing, limits.missing) = (newValue.action, newValue.limit) }
    }

    fileprivate var invalidAction: LimitedAction<ShortfallAction> {
        get { LimitedAction(action: onInvalid, limit: limits.invalid) }
        set { (onInvalid, limits.invalid) = (newValue.action, newValue.limit) }
    }

    fileprivate var storeFailureAction: LimitedAction<StoreFailurePolicy> {
        get { LimitedAction(action: onStoreFailure, limit: limits.storeFailure) }
        set { (onStoreFailure, limits.storeFailure) = (newValue.action, newValue.limit) }
    }

    fileprivate var lowerTierAction: LimitedAction<ShortfallAction> {
        get { LimitedAction(action: onLowerTier, limit: limits.lowerTier) }
        set { (onLowerTier, limits.lowerTier) = (newValue.action, newValue.limit) }
    }
}
