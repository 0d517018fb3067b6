import GatewayTokens

/// How far the gateway has come with a session token.
enum SessionTokenProof {
    /// The header is there.
    case announced
    /// The token is authentic, has not expired, and is bound to this request if tokens are bound.
    case opened(OpenedSessionToken)

    var opened: OpenedSessionToken? {
        if case .opened(let opened) = self { opened } else { nil }
    }
}
