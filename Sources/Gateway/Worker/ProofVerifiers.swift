import GatewayTokens

/// The verifiers of one worker's proofs.
struct ProofVerifiers: ~Copyable {
    /// Assertions, when the turn ends that brought them.
    let queue: SignatureQueue
    var tokens = AuthenticTokens()

    /// Another site's tokens may have other keys.
    mutating func siteWasReplaced() { tokens.removeAll() }
}
