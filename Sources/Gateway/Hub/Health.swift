import Synchronization

/// Whether the gateway can do its work, as the workers and the registry last saw it.
final class Health: Sendable {
    private let registryFailed = Atomic<Bool>(false)
    private let countersFailed = Atomic<Bool>(false)
    private let draining = Atomic<Bool>(false)
    private let workersWithCounters = Atomic<Int>(0)
    let outages = StoreOutages()

    var isRegistryReady: Bool { !registryFailed.load(ordering: .relaxed) }
    var areCountersReady: Bool { !countersFailed.load(ordering: .relaxed) }
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Notes the store's state.
    func registry(isReady: Bool) { registryFailed.store(!isReady, ordering: .relaxed) }

    /// Notes the store's state.
    func counters(areReady: Bool) { countersFailed.store(!areReady, ordering: .relaxed) }

    /// How many workers reach their counter store, the admin thread's and the control thread's
    /// among them.
    var countersReachedCount: Int { workersWithCounters.load(ordering: .relaxed) }

    /// To be called by each worker for every change; none reaches its store before it says so.
    func worker(reachesCounters: Bool) {
        workersWithCounters.wrappingAdd(reachesCounters ? 1 : -1, ordering: .relaxed)
    }

    func drain() { draining.store(true, ordering: .relaxed) }
}
