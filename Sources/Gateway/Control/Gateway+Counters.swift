import EventLoop

extension Gateway {
    /// Has the event log say what operators should know of their counter store. A fault that keeps
    /// the store from being used is reported by the store itself. Runs on a thread of its own,
    /// which is not waited for.
    func examineCounters() {
        guard let examine = hub.counters.examine else { return }
        let logs = logs
        // Without the thread there is no warning; `doctor` gives it too.
        _ = try? Thread.spawn(name: "redis-checkup") {
            examine { logs.event(level: "warning", "redis_checkup", $0) }
        }
    }
}
