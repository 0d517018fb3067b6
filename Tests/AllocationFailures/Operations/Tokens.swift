import Bytes
import GatewayTesting
import JWT

extension Operation {
    private static let now: Int64 = 2_000_000_000
    private static let claims = #"{"iss":"https://issuer.example","exp":2000000060,"sub":"app"}"#

    /// A valid token of each kind of key, and the same with another claim.
    static func tokens(_ inputs: Inputs) throws -> [Operation] {
        try ["RS256", "PS256", "ES256", "ES384", "EdDSA"].flatMap { name in
            let issuer = try IssuerKey(name, in: inputs.directory)
            let document = Array(IssuerKey.document([issuer.jwk()]).utf8)
            let token = Array(try issuer.token(claims).utf8)
            var forged = token
            guard let dot = token.firstIndex(of: UInt8(ascii: ".")) else { return [Operation]() }
            forged[dot + 20] ^= 1
            let bad = forged
            let verifier = TokenVerifier(
                issuer: nil, audiences: [], algorithms: Set(TokenAlgorithm.allCases))
            func verify(_ token: [UInt8]) throws -> Bool {
                let keys = TokenKeys.published(try JSONWebKeySet(parsing: document.span))
                return try verifier.verify(token.span, keys: keys, at: now).subject == "app"
            }
            return [
                Operation("token: \(name)") { .good { try verify(token) } },
                Operation("token: \(name), changed") { .bad { try verify(bad) } },
            ]
        }
    }
}
