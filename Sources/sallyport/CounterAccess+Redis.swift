import Gateway
import KeyStore
import RedisKeyStore
import Settings

extension CounterAccess {
    /// Access to counters in Redis: each worker has connections of its own.
    static func redis(_ settings: RedisSettings) -> CounterAccess {
        let news = IncarnationNews()
        let quotas = KnownQuotas()
        return CounterAccess(
            isRemote: true,
            examine: { warn in
                guard let configuration = try? RedisCounterConfiguration(settings) else { return }
                RedisCheckup.run(configuration, mayWrite: false) { step in
                    guard step.verdict == .warning else { return }
                    warn("\(step.name): \(step.text)")
                }
            },
            open: { loop in
                let counters = RedisCounters(
                    loop: loop, configuration: try RedisCounterConfiguration(settings), news: news,
                    quotas: quotas)
                return OpenedCounters(counters) { [unowned counters] next in
                    guard case .redis(let redis) = next,
                        let configuration = try? RedisCounterConfiguration(redis)
                    else { return }
                    counters.update(configuration)
                }
            })
    }
}
