import Attestation
import Bytes
import GatewayTokens
import HTTP
import JSON
import Judgement
import KeyStore
import Policy
import Settings

/// The gateway's own endpoints towards apps.
extension EndpointDesk {
    func answerEndpoint() throws(Refusal) -> Step {
        switch match.endpoint {
        case .attestChallenge: try answerChallenge(.attestation)
        case .assertChallenge: try answerChallenge(.assertion)
        case .attestVerify: try verifyAttestation()
        case .attestFailure: try takeFailureReport()
        case .identityKeys: try answerKeySet()
        case .discovery: try answerDiscovery()
        case .assertToken, nil: throw Refusal(.internalFailure, .endpoint)
        }
    }

    /// The methods that the endpoint, or the admin page, accepts, for `Allow`.
    var allowedMethods: String {
        switch match.endpoint {
        case .attestVerify, .attestFailure, .assertToken: "POST"
        case .attestChallenge, .assertChallenge: "GET, HEAD, POST"
        case .identityKeys, .discovery: "GET, HEAD"
        case nil:
            adminDesk.inquiry == nil
                ? adminDesk.administration?.resource.allowedMethods ?? "GET, HEAD" : "POST"
        }
    }

    /// Answers a fresh challenge: the plain token, or JSON for clients that ask for it.
    private func answerChallenge(_ purpose: ChallengePurpose) throws(Refusal) -> Step {
        switch head.methodKind {
        case .get, .head, .post: break
        default: throw Refusal(.methodNotAllowed, .endpoint)
        }
        let keyID = try queriedKeyID()
        if purpose == .attestation { try checkAttestRollout(keyID) }
        guard let challenge = services.makeChallenge(purpose, keyID: keyID) else {
            throw Refusal(.storeUnavailable, .counters)
        }
        let token = services.token(of: challenge)
        let life = site.challengeLifeMilliseconds(purpose, isBound: keyID != nil)
        var response: LocalResponse
        if acceptsJSON {
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("challenge", bytes: token.span)
            writer.member("expires_in", int: life / 1000)
            // The advice goes along because a device that fails to attest gets no other answer.
            if purpose == .attestation { RetryAdvice.enrolment.write(to: &writer) }
            writer.endObject()
            response = LocalResponse(
                status: 200, contentType: "application/json", body: writer.finish().readable.array)
        } else {
            response = LocalResponse(
                status: 200, contentType: "text/plain; charset=us-ascii", body: token)
        }
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        return exchange.answer(response)
    }

    /// Answers what clients have to know about this host.
    private func answerDiscovery() throws(Refusal) -> Step {
        guard head.methodKind == .get || head.methodKind == .head else {
            throw Refusal(.methodNotAllowed, .endpoint)
        }
        let host = headBytes.span.extracting(head.host ?? .empty)
        var response = LocalResponse(
            status: 200, contentType: "application/json",
            body: site.endpoints.discovery.document(ofHostClass: site.routes.hostClass(of: host)))
        // The age within which a reload should be noticed; a refusal tells a client at once all the
        // same.
        response.fields.append(("Cache-Control", Array("public, max-age=300".utf8)))
        return exchange.answer(response)
    }

    /// The key that the challenge is bound to: `?key_id=` with base64, percent-encoded or not. Nil
    /// only if the parameter is absent: a client that sent one would not notice an unbound
    /// challenge.
    private func queriedKeyID() throws(Refusal) -> KeyID? {
        guard let value = try queried("key_id", else: .keyIDBase64) else { return nil }
        guard let keyID = KeyID(base64: value.span) else {
            throw Refusal(
                .badRequest, .keyIDBase64, explanation: "key_id is not base64 of 32 bytes.")
        }
        return keyID
    }

    /// The value of a parameter that must come only once in the query.
    func queried(
        _ name: StaticString, else check: Cause.Check
    ) throws(Refusal) -> [UInt8]? {
        let target = headBytes.span.extracting(head.originTarget)
        do throws(QueryFault) {
            return try QueryValue.find(name, inQueryOf: target)
        } catch {
            throw switch error {
            case .badlyEncoded:
                Refusal(
                    .badRequest, .query,
                    explanation: "The query is not correctly percent-encoded.")
            case .repeated:
                Refusal(
                    .badRequest, check,
                    explanation: "A parameter of the query is given more than once.")
            }
        }
    }

    private var acceptsJSON: Bool {
        let bytes = headBytes.span
        var rest = Self.acceptByteCountMax
        for field in head.fields where field.known == .accept && rest > 0 {
            let value = bytes.extracting(field.value)
            if MediaRanges.contains(Self.json, in: value.extracting(first: rest)) { return true }
            rest -= value.count
        }
        return false
    }

    /// The number of bytes of `Accept` that are read: browsers send some 200. HTTP/2 repeats a long
    /// value for a few bytes, so that reading it all would cost the gateway more than the client.
    private static let acceptByteCountMax = 1024

    private static let json = Array("application/json".utf8)

    /// The challenge for the app's next request, on attested routes.
    func nextChallenge() -> Challenge? {
        // The challenge is for assertions, so a failed enrolment has no use for it.
        guard policy.mode != .off || attestedKeyID != nil else { return nil }
        let keyID = exchange.provenKeyID ?? attestedKeyID
        return services.makeChallenge(.assertion, keyID: keyID)
    }

    /// The action that the client is advised to take. An attestation is not signed again, because
    /// it needs a new challenge.
    func action(for reason: Reason) -> Reason.Action {
        match.endpoint == .attestVerify && reason == .challengeExpired
            ? .fetchChallenge : reason.action
    }

    /// The key that this exchange has just enrolled.
    private var attestedKeyID: KeyID? {
        exchange.outcome.decision == .answered ? state.enrolment?.keyID : nil
    }
}
