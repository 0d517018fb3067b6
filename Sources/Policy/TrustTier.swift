/// The worth of a request's proof. Each tier is worth more than those before.
public enum TrustTier: UInt8, Comparable, Sendable, CaseIterable {
    /// Nothing was proved.
    case none
    /// A token of another issuer, which says about the app what that issuer has found out.
    case foreign
    /// A token: something was proved a while ago.
    case token
    /// A genuine device, as Apple's DeviceCheck says; nothing is known about the app.
    case deviceCheck
    /// A genuine instance of the app on a genuine device, from which this very request came.
    case attested

    /// The word in headers, logs and the configuration.
    public var name: StaticString {
        switch self {
        case .none: "none"
        case .foreign: "foreign"
        case .token: "token"
        case .deviceCheck: "device_check"
        case .attested: "attested"
        }
    }

    public static func < (left: TrustTier, right: TrustTier) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension RoutePolicy {
    /// The tier of the best proof that is accepted.
    public var highestTier: TrustTier {
        let best = TrustTier.allCases.last(where: accepts) ?? .none
        return accept.contains(.developer) ? max(best, .token) : best
    }

    /// True if a proof of exactly this tier is accepted; developer tokens do not count.
    func accepts(_ tier: TrustTier) -> Bool {
        !accept.isDisjoint(with: .worth(tier)) || proofs.contains { $0.tier == tier }
    }
}

extension AcceptedProofs {
    /// The gateway's and Apple's proofs of exactly this tier. Developer tokens are not among them,
    /// because each states its own tier.
    fileprivate static func worth(_ tier: TrustTier) -> AcceptedProofs {
        switch tier {
        case .none, .foreign: []
        case .token: .token
        case .deviceCheck: .deviceCheck
        case .attested: .assertion
        }
    }
}
