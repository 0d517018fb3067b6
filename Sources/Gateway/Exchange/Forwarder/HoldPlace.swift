import Bytes
import EventLoop
import Judgement
import Settings

/// A request that is under way to an upstream holds one of its places: no client may have them all,
/// and who lets an upstream wait makes room when they are used up.
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
        place = HeldPlace(pool: pool, network: network)
    }

    func giveBackPlace() {
        guard let held = place.take() else { return }
        held.pool.requests.giveBack(held.network)
    }

    /// The client has to take some of the answer, or send more of the body, before the upstream can
    /// go on.
    func awaitsClient() {
        guard clientWait.since == nil else { return }
        clientWait.byteCount = 0
        pool?.clientWaits.begin(exchange)
    }

    func clientIsAwaited(since now: MonotonicInstant) { clientWait.since = now }

    /// Bytes of the body came. A byte now and then is not what the upstream waits for.
    func clientSent(_ byteCount: Int, enough: Int) {
        clientWait.byteCount += byteCount
        if clientWait.byteCount >= enough { clientWasHeard() }
    }

    func clientWasHeard() { clientWait.since = nil }

    /// Another client needs its place.
    func makeRoom() {
        let reason: Reason = exchange.progress.isStarted ? .clientClosed : .requestTimeout
        exchange.refuse(Refusal(reason, .madeRoom))
    }
}

/// A request's place among those of its client.
struct HeldPlace {
    let pool: UpstreamPool
    let network: Bytes16
}
