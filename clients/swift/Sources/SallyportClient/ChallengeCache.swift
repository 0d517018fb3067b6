import Foundation

/// The challenges that answers brought, each for one request.
struct ChallengeCache {
    private var kept: [(token: String, until: Date)] = []
    /// The life of a challenge, as the gateway last stated it.
    private var lifetime: TimeInterval = 120
    /// The most challenges: a window holds no more requests at once, so more are never of use.
    private static let countMax = 64
    /// The time that a request may need to reach the gateway.
    private static let margin: TimeInterval = 10

    /// Notes the life of a challenge, as the gateway states it.
    mutating func learn(lifetime seconds: TimeInterval) { lifetime = seconds }

    mutating func keep(_ token: String, at now: Date) {
        guard !token.isEmpty else { return }
        kept.append((token, now.addingTimeInterval(lifetime - Self.margin)))
        if kept.count > Self.countMax { kept.removeFirst() }
    }

    /// Takes out the newest one; nil if none is worth trying.
    mutating func take(at now: Date) -> String? {
        // A longer life than any means that the clock was set back.
        kept.removeAll { $0.until <= now || $0.until.timeIntervalSince(now) > lifetime }
        return kept.popLast()?.token
    }

    /// Forgets all challenges, because they belong to a key that is gone.
    mutating func removeAll() { kept.removeAll() }
}
