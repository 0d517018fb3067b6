/// How far a route goes with App Attest.
public enum AttestMode: String, Sendable, CaseIterable {
    /// Nothing is looked at; the headers are still stripped.
    case off
    /// Verified, counted and logged; forwarded whatever the verdict.
    case observe
    /// Only what is verified is forwarded.
    case enforce
}

/// Where the client data of an assertion is.
public enum ClientDataShape: String, Sendable, CaseIterable {
    /// Base64 of JSON `{challenge, method, path, bodySHA256}` in a header.
    case header
    /// The raw request body is the client data.
    case body
}

/// What counters a key may present.
public enum ReplayPolicy: Hashable, Sendable {
    /// Above the highest accepted one.
    case strict
    /// Not yet accepted, and less than this far below the highest (RFC 4303 section 3.4.3).
    case window(Int)
    /// As `strict`, compared and set in the registry before the answer: needs no challenge.
    case durable

    /// The counter stores remember this many counters below the highest one.
    public static let windowSizeMax = 1024
}

public enum ChallengeRequirement: String, Sendable, CaseIterable {
    case required
    case off
}

/// What becomes of a request that `enforce` could not judge because a store did not answer.
public enum StoreFailurePolicy: String, Sendable, CaseIterable {
    /// Refused with 503: it may be signed again when the store is back.
    case deny
    /// As `deny`, but a session token counts although nobody can tell whether its key was revoked.
    case tokensOnly = "tokens_only"
    /// Forwarded as unverified while a rate limit has room for it: ``ShortfallLimits``.
    case limit
    /// Forwarded as unverified, counted and logged: for routes that would rather be open.
    case pass

    /// What it amounts to for a request without a token.
    public var action: ShortfallAction {
        switch self {
        case .deny, .tokensOnly: .deny
        case .limit: .limit
        case .pass: .pass
        }
    }
}

/// What proves a request.
public struct AcceptedProofs: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let assertion = AcceptedProofs(rawValue: 1)
    /// A session token, which an assertion was exchanged for.
    public static let token = AcceptedProofs(rawValue: 2)
    /// A developer token, which the operator made by hand; it proves nothing of an app.
    public static let developer = AcceptedProofs(rawValue: 128)
    /// A token of DeviceCheck, which Apple is asked about.
    public static let deviceCheck = AcceptedProofs(rawValue: 4)
}

/// What a route demands of a request's proof. Plain, because each exchange has a copy.
public struct AttestPolicy: Hashable, Sendable {
    public var mode = AttestMode.off
    public var clientData = ClientDataShape.header
    public var challenge = ChallengeRequirement.required
    public var replay = ReplayPolicy.strict
    /// The share of keys, 0 to 100, for which `enforce` refuses; the others are observed.
    public var rolloutPercent = 100
    public var accept = AcceptedProofs.assertion
    /// Of a request without any proof.
    public var onMissing = ShortfallAction.deny
    /// Of a request whose proof does not hold.
    public var onInvalid = ShortfallAction.deny
    /// Of a request whose proof could not be judged.
    public var onStoreFailure = StoreFailurePolicy.deny
    /// What a proof that holds must be worth.
    public var minTier = TrustTier.none
    /// Of a request whose proof holds and is worth less.
    public var onLowerTier = ShortfallAction.deny
    /// In the `body` shape: the top-level JSON member of the body that holds the challenge.
    public var challengeMember = "challenge"
    /// In the `body` shape: the JSON member of the body that may hold the key id; nil to not look.
    public var keyIDMember: String?

    public init() {}
}
