package import AppAttest
package import KeyStore
package import Policy

/// What was decided about a request.
///
/// It is made once, when nothing is left to ask, and never changes: upstreams, the log and metrics
/// are told what it says, and nothing crosses the border without one. It is large, and so it is
/// handed on rather than copied.
package struct Verdict: ~Copyable {
    /// The sender of the request, as far as that is proved.
    package enum Identity {
        /// The route asks for no proof.
        case unasked
        /// No proven sender, with the word for `X-Attest-Result`.
        case unproved(StaticString)
        /// A developer's token, with the name it was made for.
        case developer(name: String)
        /// A token of another issuer, by the operator's name for that.
        case foreign(name: String)
        /// A genuine device without a key, in this environment.
        case device(AttestEnvironment)
        case key(IdentityFacts)
    }

    /// The sender that the request claims.
    package struct Sender {
        package var keyID: KeyID?
        package var appID: String?
        /// The name and the ID of a developer's token.
        package var developer: (name: String, id: String)?
        /// Whose token it brings, also where that does not hold.
        package var foreign: String?

        package init() {}
    }

    /// How far its route's rollout had come, and where the request stands in it.
    package struct RolloutPosition {
        package let percent: Int
        package let cohort: Int
    }

    package let outcome: Outcome
    /// What the proof is worth, also where that is not enough.
    package let tier: TrustTier
    package let identity: Identity
    package let signals: SignalFacts?
    /// Apple's two bits of the key's device, where they are known.
    package let deviceBits: DeviceBits?
    /// The app is older than the route wants.
    package let isOutdated: Bool
    /// The key's risk metric is above what the route wants.
    package let isRisky: Bool
    /// The kind of the request; nil if its route asks for no proof, or if the request was not
    /// judged.
    package let bucket: RequestBucket?
    package let side: RolloutSide
    /// Nil where every cohort is refused, or none.
    package let rollout: RolloutPosition?
    /// Its route asks for a proof.
    package let isJudged: Bool
    /// It was refused for what its proof is worth, also by the limit for such requests.
    package let isRefusedByProof: Bool
    package let sender: Sender
}

/// A key that was proved, and its app: what an upstream is told of the sender.
package struct IdentityFacts: Hashable, Sendable {
    package let keyID: KeyID
    package let appID: String
    package let environment: AttestEnvironment
    package let riskMetric: UInt32?
    package let bundleVersion: String?
    package let validationCategory: UInt32?
    package init(
        keyID: KeyID, appID: String, environment: AttestEnvironment, riskMetric: UInt32? = nil,
        bundleVersion: String? = nil, validationCategory: UInt32? = nil
    ) {
        self.keyID = keyID
        self.appID = appID
        self.environment = environment
        self.riskMetric = riskMetric
        self.bundleVersion = bundleVersion
        self.validationCategory = validationCategory
    }
}
