import GatewayTokens

/// How far the gateway has come with a session token.
enum SessionTokenProof {
    /// The header is there.
    case announced
    /// Authentic, in time, and bound to this request where tokens are bound.
    case opened(SessionToken)

    var token: SessionToken? {
        if case .opened(let token) = self { token } else { nil }
    }
}
