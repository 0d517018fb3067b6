import GatewayTokens

/// How far the gateway has come with a session token.
enum SessionTokenProof {
    /// The header is there.
    case announced
    /// Authentic, in time, and bound to this request where tokens are bound.
    case opened(OpenedSessionToken)

    var opened: OpenedSessionToken? {
        if case .opened(let opened) = self { opened } else { nil }
    }
}
