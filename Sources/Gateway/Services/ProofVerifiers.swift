import GatewayTokens

/// The verifiers of one worker's proofs.
struct ProofVerifiers: ~Copyable {
    /// Verifies assertions at the end of the turn in which they came.
    let queue: SignatureQueue
    var tokens = AuthenticTokens()

    /// Forgets verified tokens, because another site may have other keys for them.
    mutating func siteWasReplaced() { tokens.removeAll() }
}
