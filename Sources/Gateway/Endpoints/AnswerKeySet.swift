import HTTP
import Judgement
import Policy
import Settings

/// `GET /identity/jwks.json`: the keys of identity tokens.
extension EndpointDesk {
    func answerKeySet() throws(Refusal) -> Step {
        guard head.methodKind == .get || head.methodKind == .head else {
            throw Refusal(.methodNotAllowed, .endpoint)
        }
        return exchange.answer(try keySet())
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
