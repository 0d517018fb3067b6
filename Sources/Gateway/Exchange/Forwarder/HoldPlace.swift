import Bytes
import EventLoop
import Judgement
import Settings

/// A request that is under way to an upstream holds one of the upstream's places. No client may
/// hold them all. When they are used up, a client that makes the upstream wait loses its place.
extension Forwarder {
    /// Counts the request against those of its client that are under way to the same upstream.
    func takePlace() throws(Refusal) {
        guard let share = site.settings.limits.requestsPerAddress, let pool,
            let network = intake.origin?.address.ipv6Form?.limitedNetwork
        else { return }
        guard pool.requests.take(network, share: share, of: pool.placeCount) else {
            var refusal = Refusal(.rateLimited, .requestsPerAddress)
            refusal.retryAfterSeconds = 1
            throw refusal
        }
        state.place = HeldPlace(pool: pool, network: network)
    }

    func giveBackPlace() {
        guard let held = state.place.take() else { return }
        held.pool.requests.giveBack(held.network)
    }

    /// The upstream cannot go on until the client takes some of the answer, or sends more of the
    /// body.
    func awaitsClient() {
        guard state.clientWait.since == nil else { return }
        state.clientWait.byteCount = 0
        pool?.clientWaits.begin(exchange)
    }

    func clientIsAwaited(since now: MonotonicInstant) { state.clientWait.since = now }

    /// Counts bytes of the body. A few bytes now and then do not end the upstream's wait.
    func clientSent(_ byteCount: Int, enough: Int) {
        state.clientWait.byteCount += byteCount
        if state.clientWait.byteCount >= enough { clientWasHeard() }
    }

    func clientWasHeard() { state.clientWait.since = nil }

    /// Ends the request, because another client needs its place.
    func makeRoom() {
        let reason: Reason = exchange.progress.isStarted ? .clientClosed : .requestTimeout
        exchange.refuse(Refusal(reason, .madeRoom))
    }
}

/// The place that a request holds among those of its client.
struct HeldPlace {
    let pool: UpstreamPool
    let network: Bytes16
}
