package import Policy

/// The kinds of proof that a request can bring.
package enum ProofKind: CaseIterable, Sendable {
    case assertion
    case sessionToken
    case developerToken
    case deviceToken
    /// A token of another issuer.
    case foreign
}

/// What must be known, or done, about a proof before its request may pass.
///
/// The order is that of all kinds: what costs only the sender comes first, then what asks, then
/// what changes a store. A new kind of proof says which of these it needs.
package enum Need: UInt8, CaseIterable, Sendable {
    /// The proof is read, and bound to this very request.
    case evidence
    /// The counter store says whether the token was used before: that saves Apple's time.
    case earlierUse
    /// Apple says whether the device is a genuine one.
    case device
    /// The registry, or a worker's memory of it, knows the key.
    case key
    /// The key is good, and the proof is its own.
    case authenticity
    /// The key's user and the tallies raise no signal that refuses.
    case signals
    /// The proof is worth what the route demands.
    case standard
    /// The key's rate limits have room.
    case rate
    /// The counter store accepts the counter, and spends the challenge with it.
    case counter
    /// The registry accepts the counter.
    case durableCounter
    /// The counter store spends the token.
    case spending
    /// Nothing can fail any more: the request is counted as what it is.
    case acceptance
    case nothing

    /// True if it belongs to the consumption of the proof, which changes stores.
    package var isConsumption: Bool {
        (Need.rate.rawValue..<Need.nothing.rawValue).contains(rawValue)
    }

    /// Whether a proof of this kind needs it, on a route with this policy.
    package func concerns(_ kind: ProofKind, _ policy: RoutePolicy) -> Bool {
        switch self {
        case .evidence, .standard, .nothing: true
        case .earlierUse, .device, .spending: kind == .deviceToken
        case .key, .authenticity, .signals, .rate:
            kind == .assertion || kind == .sessionToken
        case .counter: kind == .assertion
        case .durableCounter: kind == .assertion && policy.replay == .durable
        case .acceptance: kind != .developerToken && kind != .foreign
        }
    }

    /// What comes after it; `nothing` stays.
    func next(for kind: ProofKind, _ policy: RoutePolicy) -> Need {
        var next = self
        repeat {
            guard let successor = Need(rawValue: next.rawValue + 1) else { return .nothing }
            next = successor
        } while !next.concerns(kind, policy)
        return next
    }
}
