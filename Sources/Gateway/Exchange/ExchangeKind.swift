import Settings

/// The kind of an exchange, which is known once its route is matched.
enum ExchangeKind {
    /// A request for an upstream, or for a session token, which has to prove itself as well.
    case route
    /// A request for one of the gateway's endpoints for apps.
    case endpoint
    /// A request of an operator's service on the admin listener.
    case admin
}

extension Exchange {
    var kind: ExchangeKind {
        if adminDesk.isAsked { return .admin }
        let endpoint = intake.match.endpoint
        return endpoint == nil || endpoint == .assertToken ? .route : .endpoint
    }
}
