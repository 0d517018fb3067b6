import Bytes
import GatewayTokens
import HTTP
import Judgement
import Policy
import Settings

/// Developer tokens: for machines without App Attest, on routes that accept them.
extension Prover {
    /// True if the token header says that its token is a developer's.
    var claimsDeveloperToken: Bool {
        guard case .value(let range) = intake.uniqueField(site.fieldNames.token) else {
            return false
        }
        return site.developerTokens.claims(headBytes.span.extracting(range))
    }

    /// Accepts a request with a developer token. It has no key and proves nothing of an app, so
    /// only its tier and the app that it was made for are weighed.
    func accept(_ token: DeveloperToken) throws(Refusal) {
        try judge.meetStandard(token.worth.tier, of: token.appID)
        services.meter.add(.developerTokens)
        judge.acceptDeveloper()
    }

    func readDeveloperToken() throws(Refusal) {
        guard let routeIndex = match.routeIndex,
            case .value(let range) = intake.uniqueField(site.fieldNames.token)
        else {
            throw Refusal(.tokenInvalid, .tokenRepeated)
        }
        let opened: DeveloperToken
        do throws(SessionTokenFailure) {
            opened = try site.developerTokens.open(
                headBytes.span.extracting(range), for: site.settings.routes[routeIndex].name,
                at: services.wallMilliseconds / 1000, lifeMax: site.developerTokenLifeMax)
        } catch {
            throw Refusal(.tokenInvalid, .tokenFailed(error))
        }
        // The token is kept even if it is refused now, so that the log names its developer.
        state.take(.developerToken(.opened(opened)))
        let revoked = site.settings.developerTokens.revoked
        guard !revoked.contains(opened.name), !revoked.contains(opened.id) else {
            throw Refusal(.tokenInvalid, .tokenFailed(.revoked))
        }
    }
}

extension DeveloperToken.Worth {
    var tier: TrustTier {
        switch self {
        case .token: .token
        case .none: .none
        }
    }
}
