import Bytes
import KeyStore
import Policy
import Settings

/// A rate limit, compiled: a ``TokenBucket`` of `burst` that is filled at `rate`.
final class RateLimit: Sendable {
    let name: String
    let subject: RateLimitSettings.Subject
    /// A number that stays the same through reloads, so that tokens that were taken stay taken.
    let identity: UInt64
    /// The nanoseconds in which one token comes back, and in which all of them do.
    let interval: UInt64
    let depth: UInt64
    private let exempt: AddressSet

    init(_ settings: RateLimitSettings) {
        name = settings.name
        subject = settings.subject
        var hasher = Hasher()
        hasher.combine(settings.name)
        hasher.combine(settings.subject)
        identity = UInt64(truncatingIfNeeded: Int64(hasher.finalize()))
        let rate = settings.rate
        interval = max(1, rate.period.nanoseconds / UInt64(max(1, rate.count)))
        depth = interval &* UInt64(max(1, settings.burst))
        exempt = AddressSet(settings.exempt)
    }

    /// The limit as the counter store keeps it, by the name that every gateway gives it.
    var counterRate: CounterRate {
        CounterRate(
            identity: KeyHash.hash(name.utf8),
            intervalMicroseconds: Int(max(1, interval / 1000)),
            depthMicroseconds: Int(max(1, depth / 1000)))
    }

    func exempts(_ address: Bytes16) -> Bool { exempt.contains(address) }
}

extension [String] {
    /// The limits of these names. A name without a limit does not pass the configuration's check.
    func compiled(_ limits: [String: RateLimit]) -> [RateLimit] { compactMap { limits[$0] } }
}

/// The rate limits of a site, grouped by the places at which the request path asks for them.
struct SiteRateLimits: Sendable {
    /// The limits of each route: those that count before the body is read, those by key that count
    /// once the key is proved, and the latter in the form for a counter store that all gateways
    /// share.
    let routes: [(early: [RateLimit], verified: [RateLimit], shared: [CounterRate])]
    /// The limits of requests that fall short of what their route demands; nil if it has none.
    let shortfalls: [ShortfallRates?]
    let challenge: [RateLimit]
    let attestationChallenge: [RateLimit]
    let attestation: [RateLimit]

    /// `byName`: the limits of the settings.
    init(_ settings: Settings, _ byName: [String: RateLimit]) {
        routes = settings.routes.map { route in
            let limits = route.rateLimits.compiled(byName)
            let verified = limits.filter { $0.subject == .key }
            return (
                early: limits.filter { $0.subject != .key }, verified: verified,
                shared: verified.map(\.counterRate)
            )
        }
        shortfalls = settings.routes.map { ShortfallRates($0.attest.limits, byName) }
        let endpoints = settings.endpoints
        challenge = endpoints.challengeRateLimits.compiled(byName)
        attestationChallenge =
            endpoints.attestationChallengeRateLimits?.compiled(byName) ?? challenge
        attestation = settings.endpoints.attestationRateLimits.compiled(byName)
    }
}

extension RateLimit {
    static func byName(_ settings: [RateLimitSettings]) -> [String: RateLimit] {
        Dictionary(settings.map { ($0.name, RateLimit($0)) }) { first, _ in first }
    }
}
