import AppAttest
import EventLoop
import KeyStore
import Redis
public import RedisKeyStore
public import Settings

/// The counter store as one worker reaches it.
enum WorkerCounters {
    case embedded(EmbeddedCounters)
    case redis(RedisCounters)

    init(hub: Hub, settings: CounterSettings, loop: EventLoop) throws {
        switch settings {
        case .embedded:
            guard let embedded = hub.embeddedCounters else {
                throw ConfigurationFailure("the embedded counters were not opened")
            }
            self = .embedded(embedded)
        case .redis(let redis):
            let counters = RedisCounters(
                loop: loop, configuration: RedisCounterConfiguration(redis))
            self = .redis(counters)
            var wasConnected = false
            counters.onStateChange = { [unowned counters, health = hub.health] in
                guard counters.isConnected != wasConnected else { return }
                wasConnected = counters.isConnected
                health.worker(reachesCounters: wasConnected)
            }
        }
    }

    /// Nil before the store was reached for the first time.
    var incarnation: Incarnation? {
        switch self {
        case .embedded(let counters): counters.incarnation
        case .redis(let counters): counters.incarnation
        }
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

    func close() {
        if case .redis(let counters) = self { counters.close() }
    }
}

extension RedisCounterConfiguration {
    /// What the settings say of a Redis server.
    public init(_ settings: RedisSettings) {
        let endpoint: RedisEndpoint =
            switch settings.endpoint {
            case .tcp(let host, let port): .tcp(host: host, port: port)
            case .unix(let path): .unix(path: path)
            }
        var connection = RedisConfiguration(endpoint: endpoint)
        connection.username = settings.username
        connection.password = settings.password
        connection.database = settings.database
        connection.connectTimeout = settings.connectTimeout
        connection.commandTimeout = settings.commandTimeout
        connection.inFlightCountMax = settings.inFlightCountMax
        self.init(connection: connection)
    }
}
