import AppAttest
package import Attestation
import EventLoop

/// The counts of requests to Apple's services, by outcome. The control thread counts and a scrape
/// reads. A lock is good enough, because this is far from the request path.
package final class AppleMeter: Sendable {
    package struct Requests: Hashable {
        package let service: String
        package let environment: AttestEnvironment
        package let outcome: String
    }

    package struct Key: Hashable {
        package let teamID: String
        package let keyID: String
    }

    private struct Counts {
        var requests: [Requests: UInt64] = [:]
        var refusals: [Key: UInt64] = [:]
    }

    private let counts = Locked(Counts())

    package init() {}

    package func count(_ requests: Requests) {
        counts.withLock { $0.requests[requests, default: 0] += 1 }
    }

    package func countRefusal(of key: Key) { counts.withLock { $0.refusals[key, default: 0] += 1 } }

    /// The counts of requests, in a stable order.
    package var requests: [(Requests, UInt64)] {
        counts.withLock { $0.requests }.sorted { left, right in
            let names = [left, right].map { entry in
                [entry.key.service, entry.key.environment.rawValue, entry.key.outcome]
            }
            return names[0].lexicographicallyPrecedes(names[1])
        }.map { ($0.key, $0.value) }
    }

    /// The counts of refused keys, in a stable order.
    package var refusals: [(Key, UInt64)] {
        counts.withLock { $0.refusals }
            .sorted { ($0.key.teamID, $0.key.keyID) < ($1.key.teamID, $1.key.keyID) }
            .map { ($0.key, $0.value) }
    }
}
