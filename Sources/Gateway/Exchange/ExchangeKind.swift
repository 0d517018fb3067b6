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
        if adminDesk.isAsked { return .admin }
        let endpoint = intake.match.endpoint
        return endpoint == nil || endpoint == .assertToken ? .route : .endpoint
    }
}
