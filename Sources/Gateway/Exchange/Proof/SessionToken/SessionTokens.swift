import AppAttest
import Bytes
import Crypto
import GatewayTokens
import HTTP
import JSON
import Judgement
import KeyStore
import Policy
import Settings

/// Session tokens: one assertion does for a while, for the routes that take them.
extension Exchange {
    /// What `POST /assert/token` demands. Counters in a window, so that an app's other requests in
    /// flight do not spoil the exchange.
    static let tokenExchangeDemand: RouteDemand = {
        var policy = RoutePolicy()
        policy.mode = .enforce
        policy.replay = .window(64)
        return RouteDemand(ofEndpoint: policy)
    }()

    // MARK: checking

    /// Authentic and in time; only whether its key was revoked is not known.
    func acceptUnrevoked(_ token: SessionToken) throws(Refusal) {
        let isConfigured = site.settings.apps.contains {
            $0.id == token.appID && $0.environments.contains(token.environment)
        }
        guard isConfigured else {
            return try refuseOrObserve(Refusal(.keyUnknown, .appNotConfigured))
        }
        try meetStandard(.token)
        if judgement.shortfall == nil { judgement.note(.check(.revocationUnknown)) }
    }

    /// Opens the token, for this route and this sender. The key that it was issued to is in the
    /// cache as a rule, and no store is asked for more.
    func readSessionToken() throws(Refusal) {
        guard let routeIndex = match.routeIndex,
            case .value(let range) = uniqueField(site.fieldNames.token)
        else {
            throw Refusal(.tokenInvalid, .tokenRepeated)
        }
        guard policy.accept.contains(.token) else {
            throw Refusal(.tokenInvalid, .tokenNotAccepted)
        }
        let opened: OpenedSessionToken
        do throws(SessionTokenFailure) {
            opened = try authenticate(headBytes.span.extracting(range))
            try opened.token.check(
                for: site.settings.routes[routeIndex].name, at: worker.wallMilliseconds / 1000)
        } catch {
            throw Refusal(.tokenInvalid, .tokenFailed(error))
        }
        if let binding = opened.token.binding {
            guard let present = boundValueHash(), ConstantTime.equals(present, binding) else {
                throw Refusal(.tokenInvalid, .tokenBinding)
            }
        } else if site.settings.sessionTokens.boundHeader != nil {
            throw Refusal(.tokenInvalid, .tokenUnbound)
        }
        proof = .sessionToken(.opened(opened))
    }

    private func authenticate(
        _ token: Span<UInt8>
    ) throws(SessionTokenFailure) -> OpenedSessionToken {
        // What the worker remembers was opened by the keys of its own site.
        guard site === worker.site else {
            return OpenedSessionToken(try site.tokens.open(token))
        }
        return try worker.verifiers.tokens.open(token, by: site.tokens)
    }

    /// SHA-256 of the value of the header that tokens are bound to; nil where it is not there, is
    /// empty, or comes more than once.
    private func boundValueHash() -> Bytes32? {
        guard let name = site.settings.sessionTokens.boundHeader else { return nil }
        let bytes = headBytes.span
        let wanted = Array(name.utf8)
        var found: Range32?
        for field in head.fields
        where ASCII.equalsIgnoringCase(bytes.extracting(field.name), lowercase: wanted) {
            guard found == nil else { return nil }
            found = field.value
        }
        // Everybody can send nothing.
        guard let found, !found.isEmpty else { return nil }
        return SHA256.hash(bytes.extracting(found))
    }

    // MARK: issuing

    /// Refuses what cannot lead to a token before an assertion is spent on it.
    func checkTokenExchange() throws(Refusal) {
        guard head.methodKind == .post else {
            throw Refusal(.methodNotAllowed, .endpoint)
        }
        guard site.settings.sessionTokens.boundHeader == nil || boundValueHash() != nil else {
            throw Refusal(
                .badRequest, .boundHeader,
                explanation:
                    "The header that session tokens are bound to must be sent once, and not empty.")
        }
    }

    /// The routes that the body asks for, `{"routes": [...]}`; all that take tokens where there is
    /// no body.
    func requestedAudience() throws(Refusal) -> [String] {
        guard body.byteCount > 0 else { return site.tokenRoutes }
        let limit = bodyByteCountMax
        let names = body.withMemory { json in Self.routeNames(json, byteCountMax: limit) }
        guard let names, !names.isEmpty, names.count <= site.tokenRoutes.count else {
            throw Refusal(
                .badRequest, .tokenRoutes,
                explanation: "The body is neither empty nor {\"routes\": [names]}.")
        }
        guard names.allSatisfy(site.tokenRoutes.contains), Set(names).count == names.count else {
            throw Refusal(
                .badRequest, .tokenRoutes,
                explanation: "The body names a route that accepts no session tokens, or one twice.")
        }
        return names
    }

    /// A token is for routes that take its app. Those that were asked for by name are not left out
    /// in silence, and nothing is spent yet.
    func narrowAudience() throws(Refusal) {
        guard let app = known.app else { return }
        let all = own.tokenAudience
        own.tokenAudience.removeAll { site.tokenRouteApps[$0]?.contains(app.id) == false }
        guard !own.tokenAudience.isEmpty, own.tokenAudience == all || body.byteCount == 0 else {
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
        guard let keyID = provenKeyID, let key = known.key, let app = known.app else {
            throw Refusal(.internalFailure, .tokenNotIssued)
        }
        let life = site.settings.sessionTokens.timeToLive.components.seconds
        let now = worker.wallMilliseconds / 1000
        var session = SessionToken(
            keyID: keyID, appID: app.id, environment: key.environment, issuedAt: now,
            expiresAt: now + life, audience: own.tokenAudience)
        session.bundleVersion = bundleVersion
        session.validationCategory = validationCategory
        session.binding = boundValueHash()
        let token = site.tokens.token(of: session)
        worker.meter.add(.tokens)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("token", bytes: token.span)
        writer.member("expires_in", int: life)
        writer.beginArray("routes")
        for name in own.tokenAudience { writer.element(string: name) }
        writer.endArray()
        writer.endObject()
        var response = LocalResponse(
            status: 200, contentType: "application/json", body: writer.finish().readable.array)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        return answer(response)
    }
}
