import Synchronization

/// Whether the gateway can do its work, as the workers and the registry last saw it.
final class Health: Sendable {
    private let registryFailed = Atomic<Bool>(false)
    private let countersFailed = Atomic<Bool>(false)
    private let draining = Atomic<Bool>(false)

    var isRegistryReady: Bool { !registryFailed.load(ordering: .relaxed) }
    var areCountersReady: Bool { !countersFailed.load(ordering: .relaxed) }
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    func registry(isReady: Bool) { registryFailed.store(!isReady, ordering: .relaxed) }
    func counters(areReady: Bool) { countersFailed.store(!areReady, ordering: .relaxed) }
    func drain() { draining.store(true, ordering: .relaxed) }
}
