import AppAttest
import EventLoop

/// What was asked of Apple's services, and what came of it: the control thread counts, a scrape
/// reads. Far from the request path, so a lock will do.
final class AppleMeter: Sendable {
    struct Requests: Hashable {
        let service: String
        let environment: AttestEnvironment
        let outcome: String
    }

    struct Key: Hashable {
        let teamID: String
        let keyID: String
    }

    private struct Counts {
        var requests: [Requests: UInt64] = [:]
        var refusals: [Key: UInt64] = [:]
    }

    private let counts = Locked(Counts())

    func count(_ requests: Requests) {
        counts.withLock { $0.requests[requests, default: 0] += 1 }
    }

    func countRefusal(of key: Key) { counts.withLock { $0.refusals[key, default: 0] += 1 } }

    /// In a stable order.
    var requests: [(Requests, UInt64)] {
        counts.withLock { $0.requests }.sorted { left, right in
            let names = [left, right].map { entry in
                [entry.key.service, entry.key.environment.rawValue, entry.key.outcome]
            }
            return names[0].lexicographicallyPrecedes(names[1])
        }.map { ($0.key, $0.value) }
    }

    /// In a stable order.
    var refusals: [(Key, UInt64)] {
        counts.withLock { $0.refusals }
            .sorted { ($0.key.teamID, $0.key.keyID) < ($1.key.teamID, $1.key.keyID) }
            .map { ($0.key, $0.value) }
    }
}
