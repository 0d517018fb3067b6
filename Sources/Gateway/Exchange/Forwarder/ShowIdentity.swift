import Attestation
import Bytes
import Crypto
import HTTP
import Judgement
import Policy
import Settings

extension HeadRewriter {
    /// Appends the token that proves to the upstream what the other fields only claim.
    func appendIdentity(_ facts: IdentityFacts, _ verdict: borrowing Verdict) throws(Refusal) {
        guard let issuer = site.identity, let routeIndex = match.routeIndex,
            let upstream = match.upstreamIndex,
            let field = issuer.field(upstream: upstream)
        else { return }
        var request: IdentifiedRequest?
        if field.isPerRequest {
            request = IdentifiedRequest(
                requestID: exchange.requestIDText, route: site.settings.routes[routeIndex].name)
        }
        do throws(CryptoError) {
            let (token, isSigned) = try issuer.token(
                of: IdentityClaims(facts, verdict), upstream: upstream, request: request,
                seconds: services.wallMilliseconds / 1000, pseudonyms: site.pseudonyms)
            services.meter.add(isSigned ? .identitiesSigned : .identitiesReused)
            state.upstreamHead.append(field.start)
            state.upstreamHead.append(token)
            state.upstreamHead.append("\r\n")
        } catch {
            throw Refusal(.internalFailure, .identity)
        }
    }
}
