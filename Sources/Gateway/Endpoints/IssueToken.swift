import Attestation
import Bytes
import GatewayTokens
import HTTP
import JSON
import Judgement
import KeyStore
import Policy
import Settings

/// `POST /assert/token`: a session token in exchange for an assertion.
extension EndpointDesk {
    /// What `POST /assert/token` demands. Counters in a window, so that an app's other requests in
    /// flight do not spoil the exchange.
    static let tokenExchangeDemand: RouteDemand = {
        var policy = RoutePolicy()
        policy.mode = .enforce
        policy.replay = .window(64)
        return RouteDemand(ofEndpoint: policy)
    }()

    /// Refuses what cannot lead to a token before an assertion is spent on it.
    func checkTokenExchange() throws(Refusal) {
        guard head.methodKind == .post else {
            throw Refusal(.methodNotAllowed, .endpoint)
        }
        guard site.settings.sessionTokens.boundHeader == nil || prover.boundValueHash() != nil
        else {
            throw Refusal(
                .badRequest, .boundHeader,
                explanation:
                    "The header that session tokens are bound to must be sent once, and not empty.")
        }
    }

    /// The routes that the body asks for, `{"routes": [...]}`; all that take tokens where there is
    /// no body.
    private func requestedAudience() throws(Refusal) -> [String] {
        guard intake.state.body.byteCount > 0 else { return site.tokenRoutes.names }
        let limit = intake.bodyByteCountMax
        let names = intake.state.body.withMemory { json in
            Self.routeNames(json, byteCountMax: limit)
        }
        guard let names, !names.isEmpty, names.count <= site.tokenRoutes.names.count else {
            throw Refusal(
                .badRequest, .tokenRoutes,
                explanation: "The body is neither empty nor {\"routes\": [names]}.")
        }
        guard names.allSatisfy(site.tokenRoutes.names.contains), Set(names).count == names.count
        else {
            throw Refusal(
                .badRequest, .tokenRoutes,
                explanation: "The body names a route that accepts no session tokens, or one twice.")
        }
        return names
    }

    /// Reads which routes the token shall be good for.
    func readAudience() throws(Refusal) { state.tokenAudience = try requestedAudience() }

    /// A token is for routes that take its app. Those that were asked for by name are not left out
    /// in silence, and nothing is spent yet.
    func narrowAudience() throws(Refusal) {
        guard let app = prover.known.app else { return }
        let all = state.tokenAudience
        state.tokenAudience.removeAll { site.tokenRoutes.apps[$0]?.contains(app.id) == false }
        guard !state.tokenAudience.isEmpty,
            state.tokenAudience == all || intake.state.body.byteCount == 0
        else {
            throw Refusal.appMismatch
        }
    }

    private static func routeNames(_ json: Span<UInt8>, byteCountMax: Int) -> [String]? {
        guard
            let value = try? JSONValue.parse(json, byteCountMax: byteCountMax, depthMax: 4),
            case .object(let members) = value, members.count == 1,
            case .array(let elements)? = members["routes"]
        else { return nil }
        let names = elements.compactMap(\.stringValue)
        return names.count == elements.count ? names : nil
    }

    /// The assertion was accepted: a token in exchange.
    func answerToken() throws(Refusal) -> Step {
        guard let keyID = exchange.provenKeyID, let key = prover.known.key,
            let app = prover.known.app
        else {
            throw Refusal(.internalFailure, .tokenNotIssued)
        }
        let life = site.settings.sessionTokens.timeToLive.components.seconds
        let now = services.wallMilliseconds / 1000
        var session = SessionToken(
            keyID: keyID, appID: app.id, environment: key.environment, issuedAt: now,
            expiresAt: now + life, audience: state.tokenAudience)
        session.platform = app.platform
        session.securityLevel = key.securityLevel
        session.installation = key.succession?.installation
        session.bundleVersion = judge.bundleVersion
        session.validationCategory = judge.validationCategory
        session.binding = prover.boundValueHash()
        let token = site.tokens.token(of: session)
        services.meter.add(.tokens)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("token", bytes: token.span)
        writer.member("expires_in", int: life)
        writer.beginArray("routes")
        for name in state.tokenAudience { writer.element(string: name) }
        writer.endArray()
        writer.endObject()
        var response = LocalResponse(
            status: 200, contentType: "application/json", body: writer.finish().readable.array)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        return exchange.answer(response)
    }
}
