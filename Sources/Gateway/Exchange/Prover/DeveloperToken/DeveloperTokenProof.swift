import GatewayTokens

/// How far the gateway has come with a developer token.
enum DeveloperTokenProof {
    /// The header is there, and says that its token is a developer's.
    case announced
    /// The token is authentic and has not expired. It may still have been revoked.
    case opened(DeveloperToken)

    var token: DeveloperToken? {
        if case .opened(let token) = self { token } else { nil }
    }
}
