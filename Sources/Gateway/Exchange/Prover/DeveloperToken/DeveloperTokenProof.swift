import GatewayTokens

/// How far the gateway has come with a developer token.
enum DeveloperTokenProof {
    /// The header is there, and says that its token is a developer's.
    case announced
    /// Authentic and in time; whether it was taken back is another question.
    case opened(DeveloperToken)

    var token: DeveloperToken? {
        if case .opened(let token) = self { token } else { nil }
    }
}
