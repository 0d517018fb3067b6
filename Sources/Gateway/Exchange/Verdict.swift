import AppAttest
import Bytes
import GatewayTokens
import KeyStore
import Policy

/// What was decided about a request that goes to its upstream.
///
/// It is made once, when nothing is left to ask, and nothing crosses the border without one.
struct Verdict {
    /// Who the request is from, as far as that is proved.
    enum Identity {
        /// The route asks for no proof.
        case unasked
        /// Nobody, with the word for `X-Attest-Result`.
        case unproved(StaticString)
        case developer(DeveloperToken)
        /// A genuine device without a key, in this environment.
        case device(AttestEnvironment)
        case key(IdentityFacts)
    }

    let identity: Identity
    let tier: TrustTier
}

extension Exchange {
    /// Throws where nothing was decided, whatever went wrong before: the gateway fails closed.
    func reachVerdict() throws(Refusal) -> Verdict {
        guard decision.forwards else { throw Refusal(.internalFailure, .undecided) }
        return Verdict(identity: identity, tier: tier)
    }

    private var identity: Verdict.Identity {
        guard policy.mode != .off else { return .unasked }
        if tier == .deviceCheck, let environment = device?.environment {
            return .device(environment)
        }
        // Without its key's record a token speaks for itself (`on_store_failure: tokens_only`).
        if let keyID = provenKeyID, let appID = app?.id ?? token?.appID,
            let environment = key?.environment ?? token?.environment
        {
            return .key(
                IdentityFacts(
                    keyID: keyID, appID: appID, environment: environment, tier: tier,
                    isOutdated: isOutdated, riskMetric: key?.riskMetric,
                    bundleVersion: bundleVersion, validationCategory: validationCategory))
        }
        if let developerToken, decision == .developer || shortfall == .lowerTier {
            return .developer(developerToken)
        }
        // What is only observed is not told apart.
        let result = decision == .observed ? nil : shortfall?.result
        return .unproved(result ?? "unverified")
    }

    /// The assertion's own map is fresher than the one kept from the attestation.
    var bundleVersion: String? {
        verified?.extensions?.bundleVersion ?? token?.bundleVersion ?? key?.bundleVersion
    }

    var validationCategory: UInt32? {
        verified?.extensions?.validationCategory ?? token?.validationCategory
            ?? key?.validationCategory
    }
}
