import Attestation
import Bytes
import Crypto
import GatewayTokens
import HTTP
import JSON
import Judgement
import KeyStore
import Policy
import Settings

/// Session tokens, with which one assertion is enough for a while on routes that accept them.
extension Prover {
    /// Accepts an authentic token that has not expired, though its key may have been revoked.
    func acceptUnrevoked(_ token: SessionToken) throws(Refusal) {
        let isConfigured = site.settings.apps.contains {
            $0.id == token.appID && $0.environments.contains(token.environment)
        }
        guard isConfigured else {
            return try judge.refuseOrObserve(Refusal(.keyUnknown, .appNotConfigured))
        }
        try judge.meetStandard(.token)
        if judge.state.judgement.shortfall == nil { judge.note(.check(.revocationUnknown)) }
    }

    /// Opens the token for this route and this sender. Its key is usually in the cache, so that no
    /// store is asked.
    func readSessionToken() throws(Refusal) {
        guard let routeIndex = match.routeIndex,
            case .value(let range) = intake.uniqueField(site.fieldNames.token)
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
                for: site.settings.routes[routeIndex].name, at: services.wallMilliseconds / 1000)
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
        state.take(.sessionToken(.opened(opened)))
    }

    private func authenticate(
        _ token: Span<UInt8>
    ) throws(SessionTokenFailure) -> OpenedSessionToken {
        // The worker's cache holds tokens that its own site's keys have opened.
        guard site === services.site else {
            return OpenedSessionToken(try site.tokens.open(token))
        }
        return try services.verifiers.tokens.open(token, by: site.tokens)
    }

    /// SHA-256 of the value of the header that tokens are bound to; nil if it is absent, empty or
    /// repeated.
    func boundValueHash() -> Bytes32? {
        guard let name = site.settings.sessionTokens.boundHeader else { return nil }
        let bytes = headBytes.span
        let wanted = Array(name.utf8)
        var found: Range32?
        for field in head.fields
        where ASCII.equalsIgnoringCase(bytes.extracting(field.name), lowercase: wanted) {
            guard found == nil else { return nil }
            found = field.value
        }
        // An empty value binds a token to no sender.
        guard let found, !found.isEmpty else { return nil }
        return SHA256.hash(bytes.extracting(found))
    }
}
