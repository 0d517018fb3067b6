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

/// A fact that must be known about a proof, or a step that must be taken, before its request may
/// pass.
///
/// The order is the same for all kinds: first what costs only the sender, then questions, then
/// changes of stores. A new kind of proof says which of these it needs.
package enum Need: UInt8, CaseIterable, Sendable {
    /// The proof is parsed, and bound to this very request.
    case evidence
    /// The counter store says if the token was used before, which saves questions to Apple.
    case earlierUse
    /// Apple says if the device is genuine.
    case device
    /// The registry, or a worker's memory of it, knows the key.
    case key
    /// The key is good, and the proof was made by it.
    case authenticity
    /// The key's user and the tallies raise no signal that refuses.
    case signals
    /// The proof has the tier that the route demands.
    case standard
    /// The key's rate limits have room.
    case rate
    /// The counter store accepts the counter, and spends the challenge with it.
    case counter
    /// The registry accepts the counter.
    case durableCounter
    /// The counter store spends the token.
    case spending
    /// No step can fail any more: the request is counted.
    case acceptance
    case nothing

    /// True if it belongs to the consumption of the proof, which changes stores.
    package var isConsumption: Bool {
        (Need.rate.rawValue..<Need.nothing.rawValue).contains(rawValue)
    }

    /// True if a proof of this kind needs it, on a route with this policy.
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

    /// The need that follows; `nothing` stays.
    func next(for kind: ProofKind, _ policy: RoutePolicy) -> Need {
        var next = self
        repeat {
            guard let successor = Need(rawValue: next.rawValue + 1) else { return .nothing }
            next = successor
        } while !next.concerns(kind, policy)
        return next
    }
}
