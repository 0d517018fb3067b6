import Judgement
import Settings

/// Whose business an exchange is. Decided where its route is matched.
enum ExchangeKind {
    /// It is for an upstream, or has to prove itself like one that is: a request for a session
    /// token.
    case route
    /// It is for an endpoint of the gateway, which apps use.
    case endpoint
    /// An operator's service asks on the admin listener.
    case admin
}

extension Exchange {
    var kind: ExchangeKind {
        if own.isAdmin { return .admin }
        return match.endpoint == nil || match.endpoint == .assertToken ? .route : .endpoint
    }

    /// Does what an endpoint or the admin listener was asked for. Nothing of it goes further.
    func answerLocally() throws(Refusal) -> Step {
        if own.administration != nil { return try administer() }
        return try own.inquiry == nil ? answerEndpoint() : readInquiry()
    }
}
