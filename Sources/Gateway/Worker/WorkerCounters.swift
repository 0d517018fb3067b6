import AppAttest
import Bytes
import EventLoop
import KeyStore
import Redis
import RedisKeyStore
import Settings

/// The counter store as one worker reaches it.
enum WorkerCounters {
    case embedded(EmbeddedCounters)
    case redis(RedisCounters)

    init(hub: Hub, settings: CounterSettings, meter: WorkerMeter, loop: EventLoop) throws {
        switch settings {
        case .embedded:
            guard let embedded = hub.embeddedCounters else {
                throw ConfigurationFailure("the embedded counters were not opened")
            }
            self = .embedded(embedded)
        case .redis(let redis):
            let counters = RedisCounters(
                loop: loop, configuration: try RedisCounterConfiguration(redis))
            self = .redis(counters)
            counters.onUnconfirmed = { [meter] in meter.add(.unconfirmed, $0) }
            var wasConnected = false
            counters.onStateChange = { [unowned counters, health = hub.health] in
                guard counters.isConnected != wasConnected else { return }
                wasConnected = counters.isConnected
                health.worker(reachesCounters: wasConnected)
            }
        }
    }

    /// `lost` is called when the store may have forgotten what it accepted, while this process goes
    /// on. The embedded one forgets only together with its process.
    func onLoss(_ lost: @escaping () -> Void) {
        if case .redis(let counters) = self { counters.onLoss = lost }
    }

    /// Whether other gateways use the same store.
    var isShared: Bool {
        switch self {
        case .embedded: false
        case .redis: true
        }
    }

    /// By which a challenge is sealed and judged. Nil before the store was reached for the first
    /// time. `now`: milliseconds of the monotonic clock.
    func moment(keyID: KeyID?, challenge: Bytes16, now: Int64) -> StoreMoment? {
        switch self {
        case .embedded(let counters): counters.moment(nowMilliseconds: now)
        case .redis(let counters): counters.moment(keyID: keyID, challenge: challenge)
        }
    }

    /// Takes up new passwords and certificates, for the connections made from now on.
    func update(_ settings: CounterSettings) {
        guard case .redis(let counters) = self, case .redis(let redis) = settings,
            let configuration = try? RedisCounterConfiguration(redis)
        else { return }
        counters.update(configuration)
    }

    var isAvailable: Bool {
        switch self {
        case .embedded: true
        case .redis(let counters): counters.isConnected
        }
    }

    /// Why the store is not available, for the event log.
    var failureText: String {
        switch self {
        case .embedded: ""
        case .redis(let counters): counters.lastFailure.map(\.description) ?? "no connection yet"
        }
    }

    /// `reply` may run before this returns. `now`: milliseconds of the monotonic clock.
    func advance(
        _ request: CounterAdvance, now: Int64, reply: @escaping (CounterVerdict) -> Void
    ) {
        switch self {
        case .embedded(let counters): reply(counters.advance(request, nowMilliseconds: now))
        case .redis(let counters): counters.advance(request, reply: reply)
        }
    }

    /// Counts together with other gateways, where there are any.
    func tally(_ tally: SharedTally, reply: @escaping (SharedCounts?) -> Void) {
        if case .redis(let counters) = self { counters.tally(tally, reply: reply) }
    }

    /// Accepts a token of somebody else's once. `reply` may run before this returns.
    func spendToken(
        _ id: Bytes16, forMilliseconds life: Int, now: Int64,
        reply: @escaping (CounterVerdict) -> Void
    ) {
        switch self {
        case .embedded(let counters):
            reply(counters.spendToken(id, forMilliseconds: life, nowMilliseconds: now))
        case .redis(let counters):
            counters.spendToken(id, forMilliseconds: life, reply: reply)
        }
    }

    /// Whether it was accepted before. `reply` may run before this returns.
    func isTokenSpent(
        _ id: Bytes16, forMilliseconds life: Int, now: Int64, reply: @escaping (Bool) -> Void
    ) {
        switch self {
        case .embedded(let counters):
            reply(counters.isTokenSpent(id, forMilliseconds: life, nowMilliseconds: now))
        case .redis(let counters): counters.isTokenSpent(id, reply: reply)
        }
    }

    func close() {
        if case .redis(let counters) = self { counters.close() }
    }
}
