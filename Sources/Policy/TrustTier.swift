/// How much the proof of a request says of who sent it. Each is worth more than those before.
public enum TrustTier: UInt8, Comparable, Sendable, CaseIterable {
    /// Nothing was proved.
    case none
    /// A token: something was proved a while ago.
    case token
    /// A genuine device, as Apple's DeviceCheck says; nothing of the app.
    case deviceCheck
    /// A genuine instance of the app on a genuine device, and this very request is from it.
    case attested

    /// The word in headers, logs and the configuration.
    public var name: StaticString {
        switch self {
        case .none: "none"
        case .token: "token"
        case .deviceCheck: "device_check"
        case .attested: "attested"
        }
    }

    public static func < (left: TrustTier, right: TrustTier) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension AcceptedProofs {
    /// The tier of the best of these proofs.
    public var highestTier: TrustTier {
        let best = TrustTier.allCases.last { !isDisjoint(with: .worth($0)) } ?? .none
        return contains(.developer) ? max(best, .token) : best
    }

    /// The proofs that are worth just this; developer tokens are none of them, as each says itself.
    static func worth(_ tier: TrustTier) -> AcceptedProofs {
        switch tier {
        case .none: []
        case .token: .token
        case .deviceCheck: .deviceCheck
        case .attested: .assertion
        }
    }
}
