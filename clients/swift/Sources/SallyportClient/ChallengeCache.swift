import Foundation

/// The challenges that answers brought, each for one request.
struct ChallengeCache {
    private var kept: [(token: String, until: Date)] = []
    /// How long a challenge is believed to live: what the gateway last said of it.
    private var lifetime: TimeInterval = 120
    /// More than this are never of use: a window holds no more requests at once.
    private static let countMax = 64
    /// What a request may need to reach the gateway.
    private static let margin: TimeInterval = 10

    /// The gateway says how long a challenge lives.
    mutating func learn(lifetime seconds: TimeInterval) { lifetime = seconds }

    mutating func keep(_ token: String, at now: Date) {
        guard !token.isEmpty else { return }
        kept.append((token, now.addingTimeInterval(lifetime - Self.margin)))
        if kept.count > Self.countMax { kept.removeFirst() }
    }

    /// Takes the youngest one out, or returns nil if none is worth trying.
    mutating func take(at now: Date) -> String? {
        kept.removeAll { $0.until <= now }
        return kept.popLast()?.token
    }

    /// Forgets all: they belong to a key that is gone.
    mutating func removeAll() { kept.removeAll() }
}
