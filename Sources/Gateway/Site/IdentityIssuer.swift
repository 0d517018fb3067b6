import Attestation
import Bytes
import Crypto
import EventLoop
import JSON
import JWT
import Judgement
import KeyStore
import Policy
import Settings

/// The claims of an identity token beside its audience and its end.
struct IdentityClaims: Hashable {
    let facts: IdentityFacts
    let tier: TrustTier
    let isOutdated: Bool

    init(_ facts: IdentityFacts, tier: TrustTier, isOutdated: Bool) {
        self.facts = facts
        self.tier = tier
        self.isOutdated = isOutdated
    }

    init(_ facts: IdentityFacts, _ verdict: borrowing Verdict) {
        self.init(facts, tier: verdict.tier, isOutdated: verdict.isOutdated)
    }
}

/// The request that a token is made for, if it is made for a single one.
struct IdentifiedRequest {
    var requestID: String
    var route: String
}

/// Makes identity tokens for upstreams: JWTs by ES256 (RFC 7519), for upstreams that do not rely on
/// the network to know that a request came through the gateway. Part of a site: a reload that
/// changes the claims begins without any token.
final class IdentityIssuer: Sendable {
    /// A token that is reused while its claims stay the same and half of its life is left.
    private struct Issued: Remembered {
        let said: IdentityClaims
        let token: [UInt8]
        /// The time of issue, in seconds since 1970. If the clock was ahead then, the token is not
        /// reused.
        let issuedAt: Int64
        let reusedUntil: Int64

        func worth(at now: UInt64) -> UInt64 { UInt64(max(0, reusedUntil)) }
    }

    private struct Place: Hashable {
        let upstream: Int
        let keyID: KeyID
    }

    private struct Target: Sendable {
        let fieldStart: [UInt8]
        let audience: [String]
        let life: Int64
        let scope: UpstreamIdentity.Scope
    }

    private let signer: ES256Signer
    private let issuer: String
    private let subject: IdentitySettings.Subject
    private let targets: [Target?]
    private let issued: SubjectTable<Place, Issued>
    /// The published keys (RFC 7517 section 5).
    let keySet: [UInt8]

    /// Nil if no upstream gets tokens and no keys are published.
    init?(_ settings: Settings) {
        let identity = settings.identity
        guard !identity.keys.isEmpty else { return nil }
        let keys = identity.keys.map(\.key)
        let published = keys.map { JSONWebKey($0.publicKey) }
        signer = ES256Signer(key: keys[0], keyID: published[0].keyID, type: "JWT")
        var writer = JSONWriter()
        writer.beginObject()
        writer.beginArray("keys")
        for key in published { key.write(to: &writer) }
        writer.endArray()
        writer.endObject()
        keySet = writer.finish().readable.array
        issuer = identity.issuer
        subject = identity.subject
        issued = SubjectTable(subjectCountMax: identity.tokenCountMax)
        targets = settings.upstreams.map { upstream in
            upstream.identity.map {
                Target(
                    fieldStart: Array("\($0.header): ".utf8), audience: $0.audience,
                    life: $0.timeToLive.components.seconds, scope: $0.scope)
            }
        }
    }

    /// The field that holds the token in the upstream's requests, up to its value; nil if they have
    /// none. `isPerRequest`: a token must be made for each request.
    func field(upstream: Int) -> (start: [UInt8], isPerRequest: Bool)? {
        targets[upstream].map { ($0.fieldStart, $0.scope == .request) }
    }

    /// Returns a token for `upstream`, which must get tokens. `isSigned`: the token was made now.
    func token(
        of said: IdentityClaims, upstream: Int, request: IdentifiedRequest?, seconds: Int64,
        pseudonyms: Pseudonyms
    ) throws(CryptoError) -> (token: [UInt8], isSigned: Bool) {
        guard let target = targets[upstream] else { return ([], false) }
        let place = Place(upstream: upstream, keyID: said.facts.keyID)
        if request == nil, let known = issued.find(place), known.said == said,
            (known.issuedAt..<known.reusedUntil).contains(seconds)
        {
            return (known.token, false)
        }
        let claims = claims(said, target, request, seconds, pseudonyms)
        let token = try signer.token(claims: claims.readable)
        if request == nil {
            let fresh = Issued(
                said: said, token: token, issuedAt: seconds,
                reusedUntil: seconds + max(1, target.life / 2))
            issued.update(place, now: UInt64(max(0, seconds)), fresh: fresh) { $0 = fresh }
        }
        return (token, true)
    }

    private func claims(
        _ said: IdentityClaims, _ target: Target, _ request: IdentifiedRequest?, _ seconds: Int64,
        _ pseudonyms: Pseudonyms
    ) -> ByteBuffer {
        let facts = said.facts
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("iss", string: issuer)
        writer.beginArray("aud")
        for name in target.audience { writer.element(string: name) }
        writer.endArray()
        writer.member("iat", int: seconds)
        writer.member("exp", int: seconds + target.life)
        switch subject {
        case .key:
            let name = Base64.encodeURL(facts.keyID.digest.array)
            writer.member("sub", string: name)
            writer.beginObject("cnf")
            writer.member("kid", string: name)
            writer.endObject()
            // The id contains half of a key's, so no pseudonym stands beside it.
            writer.member("installation", string: facts.installation.description)
        case .pseudonym: writer.member("sub", string: "\(pseudonyms.pseudonym(of: facts.keyID))")
        }
        writer.member("app", string: facts.appID)
        writer.member("env", string: facts.environment.rawValue)
        writer.member("platform", string: facts.platform.text)
        if let level = facts.securityLevel {
            writer.member("security_level", string: level.rawValue)
        }
        writer.member("tier", constant: said.tier.name)
        if said.isOutdated { writer.member("outdated", bool: true) }
        if let metric = facts.riskMetric { writer.member("risk", int: Int64(metric)) }
        if let version = facts.bundleVersion { writer.member("ver", string: version) }
        if let category = facts.validationCategory { writer.member("cat", int: Int64(category)) }
        if let request {
            writer.member("jti", string: request.requestID)
            writer.member("route", string: request.route)
        }
        writer.endObject()
        return writer.finish()
    }
}
