import GatewayTokens
import Judgement

/// What an answer tells this client alone.
struct PersonalPart {
    /// The answer has to say `Cache-Control: private`, because of what else is here.
    private(set) var isPrivate = false
    /// The app has to be updated.
    private(set) var isOutdated = false
    /// The challenge for the client's next request.
    private(set) var challenge: Challenge?

    init(_ fields: PersonalFields, of exchange: Exchange) {
        guard fields != .withheld else { return }
        challenge = exchange.endpoints.nextChallenge()
        isOutdated = exchange.judge.state.judgement.isOutdated
        isPrivate = fields == .allowedAsPrivate && (isOutdated || challenge != nil)
    }
}
