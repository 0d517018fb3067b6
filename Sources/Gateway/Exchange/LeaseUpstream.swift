import Bytes
import EventLoop
import HTTP
import Policy
import Settings

extension Exchange {
    /// Takes a connection to the route's upstream: an idle one, or a new one that is being made.
    func leaseUpstream() throws(Refusal) -> Step {
        guard let routeIndex, let index = site.settings.routes[routeIndex].upstream else {
            throw Refusal(.internalFailure, detail: "no_route")
        }
        let pool = worker.pool(for: site, upstream: index)
        upstreamAttempts += 1
        // A retry goes to a fresh connection: the next idle one may be as dead as the last.
        guard let connection = pool.lease(freshOnly: upstreamAttempts > 1) else {
            throw Refusal(.upstreamBusy, detail: "connections_max")
        }
        upstream = connection
        upstreamStartedAt = worker.loop.now
        upstreamAddress = connection.addressText
        return .next
    }

    /// Hands the request over; the upstream's connection drives the exchange from here on.
    func relayResponse() throws(Refusal) -> Step {
        upstream?.send(self)
        return .wait
    }
}
