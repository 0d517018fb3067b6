import Synchronization

/// The state of the stores as the workers and the registry last saw it.
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

    /// The number of workers that reach their counter store, including the admin thread and the
    /// control thread.
    var countersReachedCount: Int { workersWithCounters.load(ordering: .relaxed) }

    /// Notes if a worker reaches its store. Each worker calls it for every change; before its first
    /// call it counts as not reaching the store.
    func worker(reachesCounters: Bool) {
        workersWithCounters.wrappingAdd(reachesCounters ? 1 : -1, ordering: .relaxed)
    }

    func drain() { draining.store(true, ordering: .relaxed) }
}
