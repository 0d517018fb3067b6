import EventLoop
import RedisKeyStore
import Settings

extension Gateway {
    /// Has the event log say what operators should know of their Redis; what keeps it from being
    /// used is told by the store itself. On a thread of its own, which nobody waits for.
    func examineRedis() {
        guard case .redis(let redis) = currentSite.settings.counters,
            let configuration = try? RedisCounterConfiguration(redis)
        else { return }
        let logs = logs
        // Without the thread there is no warning; `doctor` gives it too.
        _ = try? Thread.spawn(name: "redis-checkup") {
            RedisCheckup.run(configuration, mayWrite: false) { step in
                guard step.verdict == .warning else { return }
                logs.event(level: "warning", "redis_checkup", "\(step.name): \(step.text)")
            }
        }
    }
}
