import Attestation
import Bytes
import EventLoop
import Judgement
import KeyStore
import Settings
import Telemetry

extension RequestLimiter {
    /// Counts the request against its listener's limits before any other check.
    func limitListenerRate() throws(Refusal) {
        if !client.listener.rateLimits.isEmpty { try take(client.listener.rateLimits) }
    }

    /// Counts the request against the limits of its route or endpoint before its body is read.
    func limitRate() throws(Refusal) {
        switch match.endpoint {
        case .attestChallenge: try take(site.rateLimits.attestationChallenge)
        case .assertChallenge, .assertToken, .identityKeys, .discovery, .attestFailure:
            try take(site.rateLimits.challenge)
        case .attestVerify: try take(site.rateLimits.attestation)
        case nil:
            guard let routeIndex = match.routeIndex else { return }
            let limits = site.rateLimits.routes[routeIndex].early
            if !limits.isEmpty { try take(limits) }
            try forwarder.takePlace()
        }
    }

    /// Refuses a verified request whose key has used up its limits. An earlier check would let
    /// strangers use up the limits of a key whose id they know. The check comes before counter and
    /// challenge are spent, so that the same request may be sent again.
    func limitKeyRate() throws(Refusal) {
        guard let routeIndex = match.routeIndex else { return }
        let limits = site.rateLimits.routes[routeIndex].verified
        if !limits.isEmpty { try take(limits, isTrial: true) }
    }

    /// Counts the request against its key's limits, now that it cannot be a replay.
    func countKeyRate() {
        guard let routeIndex = match.routeIndex else { return }
        let limits = site.rateLimits.routes[routeIndex].verified
        guard !limits.isEmpty else { return }
        // Other requests of the key may have used up the limit meanwhile, but this one was
        // accepted.
        try? take(limits)
    }

    /// The route's limits per key, in the counter store's form.
    var keyRates: [CounterRate] {
        guard let routeIndex = match.routeIndex, services.counters.isShared else { return [] }
        return site.rateLimits.routes[routeIndex].shared
    }

    /// The refusal if the counter store has no token left for the limit at `index` of ``keyRates``.
    func keyRateRefusal(_ index: Int, _ waitMilliseconds: Int) -> Refusal {
        let limits = match.routeIndex.map { site.rateLimits.routes[$0].verified } ?? []
        let name = index < limits.count ? limits[index].name : ""
        var refusal = Refusal(.rateLimited, .rate(limit: name, shortfall: nil))
        refusal.retryAfterSeconds = UInt64(max(0, waitMilliseconds)) / 1000 + 1
        return refusal
    }

    /// Counts a request that falls short, for `reason`, against the limit for such requests.
    ///
    /// Senders that the limit cannot tell apart (peers of a unix socket, requests without a key)
    /// share a bucket; otherwise they would have no limit.
    func takeShortfall(
        _ limit: RateLimit, _ reason: Reason, isTrial: Bool
    ) throws(Refusal) {
        var counted = Bytes16(word0: 0, word1: 0)
        if let subject = subject(of: limit) {
            counted = subject
        } else if isExempt(from: limit) {
            return
        }
        let wait = services.hub.rateLimiter.take(
            limit, counted, now: services.loop.now, isTrial: isTrial)
        if let wait { throw Self.refusal(limit, wait, reason) }
    }

    func take(_ limits: [RateLimit], isTrial: Bool = false) throws(Refusal) {
        for limit in limits {
            guard let subject = subject(of: limit) else { continue }
            let wait = services.hub.rateLimiter.take(
                limit, subject, now: services.loop.now, isTrial: isTrial)
            if let wait { throw Self.refusal(limit, wait) }
        }
    }

    private static func refusal(
        _ limit: RateLimit, _ waitNanoseconds: UInt64, _ shortfall: Reason? = nil
    ) -> Refusal {
        var refusal = Refusal(.rateLimited, .rate(limit: limit.name, shortfall: shortfall))
        refusal.retryAfterSeconds = waitNanoseconds / 1_000_000_000 + 1
        return refusal
    }

    /// Counts an app's report of a failure. Throws if the address has sent too many.
    func count(_ report: FailureReport) throws(Refusal) {
        let limit = ClientFailures.rateLimit
        // Peers of a unix socket share a bucket; otherwise they would have no limit.
        let subject = subject(of: limit) ?? Bytes16(word0: 0, word1: 0)
        let failures = services.hub.clientFailures
        if let wait = services.hub.rateLimiter.take(limit, subject, now: services.loop.now) {
            failures.drop()
            throw Self.refusal(limit, wait)
        }
        failures.count(report, apps: site.settings.apps.map(\.id), at: services.loop.now)
    }

    /// The sender as `limit` counts it; nil if it does not count this one.
    private func subject(of limit: RateLimit) -> Bytes16? {
        switch limit.subject {
        case .global: return Bytes16(word0: 0, word1: 0)
        case .key:
            guard let digest = prover.proofFacts.keyID?.digest else { return nil }
            return Bytes16(word0: digest.word0, word1: digest.word1)
        case .address:
            // The address is nil for a unix socket.
            guard let origin = intake.origin, let address = origin.address.ipv6Form else {
                return nil
            }
            // A client must not count as an exempt proxy because its headers contradict each other.
            if origin.isCertain, limit.exempts(address) { return nil }
            return address.limitedNetwork
        }
    }

    private func isExempt(from limit: RateLimit) -> Bool {
        guard limit.subject == .address, let origin = intake.origin, origin.isCertain,
            let address = origin.address.ipv6Form
        else { return false }
        return limit.exempts(address)
    }
}
