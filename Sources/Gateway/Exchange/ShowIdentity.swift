import AppAttest
import Bytes
import Crypto
import HTTP
import Judgement
import Policy
import Settings

extension Exchange {
    /// The token that proves to the upstream what the other fields only say.
    func appendIdentity(_ facts: IdentityFacts, _ verdict: borrowing Verdict) throws(Refusal) {
        guard let issuer = site.identity, let routeIndex = match.routeIndex,
            let upstream = site.settings.routes[routeIndex].upstream,
            let field = issuer.field(upstream: upstream)
        else { return }
        var request: IdentifiedRequest?
        if field.isPerRequest {
            request = IdentifiedRequest(
                requestID: requestIDText, route: site.settings.routes[routeIndex].name)
        }
        do throws(CryptoError) {
            let (token, isSigned) = try issuer.token(
                of: IdentityClaims(facts, verdict), upstream: upstream, request: request,
                seconds: worker.wallMilliseconds / 1000, pseudonyms: site.pseudonyms)
            worker.meter.add(isSigned ? .identitiesSigned : .identitiesReused)
            upstreamHead.append(field.start)
            upstreamHead.append(token)
            upstreamHead.append("\r\n")
        } catch {
            throw Refusal(.internalFailure, .identity)
        }
    }

    func answerKeySet() throws(Refusal) -> Step {
        guard head.methodKind == .get || head.methodKind == .head else {
            throw Refusal(.methodNotAllowed, .endpoint)
        }
        return answer(try keySet())
    }

    /// The public keys by which upstreams verify those tokens.
    func keySet() throws(Refusal) -> LocalResponse {
        guard let issuer = site.identity else { throw Refusal(.notFound, .identity) }
        var response = LocalResponse(
            status: 200, contentType: "application/jwk-set+json", body: issuer.keySet)
        // A key is to be published for as long before it signs.
        response.fields.append(("Cache-Control", Array("public, max-age=300".utf8)))
        return response
    }
}
