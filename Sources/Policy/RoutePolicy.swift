/// The use that a route makes of App Attest.
public enum AttestMode: String, Sendable, CaseIterable {
    /// Proofs are not checked; the gateway's headers are still stripped.
    case off
    /// Requests are verified, counted and logged, but forwarded whatever the verdict.
    case observe
    /// Only verified requests are forwarded.
    case enforce
}

/// The place of an assertion's client data.
public enum ClientDataShape: String, Sendable, CaseIterable {
    /// Base64 of JSON `{challenge, method, path, bodySHA256}` in a header.
    case header
    /// The raw request body is the client data.
    case body
}

/// The counters that a key may present.
public enum ReplayPolicy: Hashable, Sendable {
    /// Only counters above the highest accepted one.
    case strict
    /// Counters that were not accepted yet and are less than this far below the highest (RFC 4303
    /// section 3.4.3).
    case window(Int)
    /// Like `strict`, but compared and set in the registry before the answer. It needs no
    /// challenge.
    case durable

    /// The widest window, because counter stores remember this many counters below the highest one.
    public static let windowSizeMax = 1024
}

/// The part of a request that a check listener must have seen.
public enum BodyRequirement: String, Sendable, CaseIterable {
    /// The whole body, whose digest is compared.
    case required
    /// Nothing of the body: the upstream compares the digest that was signed.
    case claimed
}

public enum ChallengeRequirement: String, Sendable, CaseIterable {
    case required
    case off
}

/// The action on a request that `enforce` could not judge because a store did not answer.
public enum StoreFailurePolicy: String, Sendable, CaseIterable {
    /// The request is refused with 503. It may be signed again when the store is back.
    case deny
    /// Like `deny`, but a session token counts although it cannot be told whether its key was
    /// revoked.
    case tokensOnly = "tokens_only"
    /// The request is forwarded as unverified while a rate limit has room for it:
    /// ``ShortfallLimits``.
    case limit
    /// The request is forwarded as unverified, counted and logged: for routes that would rather be
    /// open.
    case pass

    /// The action for a request without a token.
    public var action: ShortfallAction {
        switch self {
        case .deny, .tokensOnly: .deny
        case .limit: .limit
        case .pass: .pass
        }
    }
}

/// The proofs that a route accepts.
public struct AcceptedProofs: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let assertion = AcceptedProofs(rawValue: 1)
    /// A session token, which an assertion was exchanged for.
    public static let token = AcceptedProofs(rawValue: 2)
    /// A developer token, which the operator made by hand; it proves nothing about an app.
    public static let developer = AcceptedProofs(rawValue: 128)
    /// A DeviceCheck token, which Apple is asked about.
    public static let deviceCheck = AcceptedProofs(rawValue: 4)
    /// A token of another issuer; ``RoutePolicy/proofs`` lists the issuers.
    public static let foreign = AcceptedProofs(rawValue: 8)
}

/// The demands of a route on a request as the configuration has them: on its proof, and on the app
/// and device that the proof is from.
public struct RoutePolicy: Hashable, Sendable {
    public var mode = AttestMode.off
    public var clientData = ClientDataShape.header
    public var body = BodyRequirement.required
    public var challenge = ChallengeRequirement.required
    public var replay = ReplayPolicy.strict
    /// The share of keys, 0 to 100, for which `enforce` refuses; the others are observed.
    public var rolloutPercent = 100
    public var accept = AcceptedProofs.assertion
    /// The tokens of other issuers that are accepted, in the order in which they are looked for.
    public var proofs: [ForeignProof] = []
    /// The action for a request without any proof.
    public var onMissing = ShortfallAction.deny
    /// The action for a request whose proof does not hold.
    public var onInvalid = ShortfallAction.deny
    /// The action for a request whose proof could not be judged.
    public var onStoreFailure = StoreFailurePolicy.deny
    /// The lowest tier that a proof must have.
    public var minTier = TrustTier.none
    /// The action for a request whose proof holds but has a lower tier.
    public var onLowerTier = ShortfallAction.deny
    /// The top-level JSON member of the body that holds the challenge, in the `body` shape.
    public var challengeMember = "challenge"
    /// The JSON member of the body that may hold the key id, in the `body` shape; nil if there is
    /// none.
    public var keyIDMember: String?
    public var apps = RouteApps.unnamed
    public var environments = KeyEnvironments.all
    public var categories = AppCategories.all
    public var versions: VersionRule?
    public var risk: RiskRule?
    public var limits = ShortfallLimits()

    public init() {}

    /// True if a valid proof alone is not enough.
    public var isDemanding: Bool {
        apps.only != nil || environments != .all || categories != .all || versions != nil
            || risk.map { $0.action != .observe } ?? false
    }
}
