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
extension Prover {
    /// Authentic and in time; only whether its key was revoked is not known.
    func acceptUnrevoked(_ token: SessionToken) throws(Refusal) {
        let isConfigured = site.settings.apps.contains {
            $0.id == token.appID && $0.environments.contains(token.environment)
        }
        guard isConfigured else {
            return try judge.refuseOrObserve(Refusal(.keyUnknown, .appNotConfigured))
        }
        try judge.meetStandard(.token)
        if judge.judgement.shortfall == nil { judge.note(.check(.revocationUnknown)) }
    }

    /// Opens the token, for this route and this sender. The key that it was issued to is in the
    /// cache as a rule, and no store is asked for more.
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
        // Everybody can send nothing.
        guard let found, !found.isEmpty else { return nil }
        return SHA256.hash(bytes.extracting(found))
    }
}
