package import Attestation
package import KeyStore
package import Policy

/// The decision about a request, with its facts.
///
/// It is made once, when nothing is left to ask, and never changes. Upstreams, the log and metrics
/// get it, and no request leaves the gateway without one. It is large, so it is passed on rather
/// than copied.
package struct Verdict: ~Copyable {
    /// The sender of the request, as far as that is proved.
    package enum Identity {
        /// The route asks for no proof.
        case unasked
        /// No proven sender, with the word for `X-Attest-Result`.
        case unproved(StaticString)
        /// A developer token, with the name that it was made for.
        case developer(name: String)
        /// A token of another issuer, by the operator's name for the issuer.
        case foreign(name: String)
        /// A genuine device without a key, in this environment.
        case device(AttestEnvironment)
        case key(IdentityFacts)
    }

    /// The sender that the request claims.
    package struct Sender: ~Copyable {
        package var keyID: KeyID?
        package var appID: String?
        package var platform: PlatformName?
        /// The name and the ID of a developer's token.
        package var developer: (name: String, id: String)?
        /// The issuer of the token that it brings, even if the token is invalid.
        package var foreign: String?

        package init() {}
    }

    /// The share of its route's rollout, and the cohort of the request.
    package struct RolloutPosition {
        package let percent: Int
        package let cohort: Int
    }

    package let outcome: Outcome
    /// The tier of the proof, even if it is not enough.
    package let tier: TrustTier
    package let identity: Identity
    package let signals: SignalFacts?
    /// Apple's two bits of the key's device, if they are known.
    package let deviceBits: DeviceBits?
    /// True if the app is older than the route wants.
    package let isOutdated: Bool
    /// True if the key's risk metric is above the route's threshold.
    package let isRisky: Bool
    /// The kind of the request; nil if its route asks for no proof, or if the request was not
    /// judged.
    package let bucket: RequestBucket?
    package let side: RolloutSide
    /// Nil if every cohort is refused, or none.
    package let rollout: RolloutPosition?
    /// True if its route asks for a proof.
    package let isJudged: Bool
    /// True if it was refused for the worth of its proof, also by the limit for such requests.
    package let isRefusedByProof: Bool
    package let sender: Sender
}

/// A proven key and its app: the facts about the sender for an upstream.
package struct IdentityFacts: Hashable, Sendable {
    package let keyID: KeyID
    package let installation: InstallationID
    package let appID: String
    package let environment: AttestEnvironment
    package let platform: PlatformName
    package let securityLevel: SecurityLevel?
    package let riskMetric: UInt32?
    package let bundleVersion: String?
    package let validationCategory: UInt32?
    package init(
        keyID: KeyID, installation: InstallationID, appID: String, environment: AttestEnvironment,
        platform: PlatformName = .apple, securityLevel: SecurityLevel? = nil,
        riskMetric: UInt32? = nil, bundleVersion: String? = nil, validationCategory: UInt32? = nil
    ) {
        self.keyID = keyID
        self.installation = installation
        self.appID = appID
        self.environment = environment
        self.platform = platform
        self.securityLevel = securityLevel
        self.riskMetric = riskMetric
        self.bundleVersion = bundleVersion
        self.validationCategory = validationCategory
    }
}
