import EventLoop
import KeyStore

/// Asks the registry whether it answers, for readiness and the event log: one question at a time,
/// so that a registry that hangs gathers none, and counts as down when it has had its time.
final class RegistryProbe: Sendable {
    private let hub: Hub
    private let askedAt = Locked<MonotonicInstant?>(nil)

    init(hub: Hub) { self.hub = hub }

    /// To be called again and again. `patience`: how long an answer may take.
    func ask(at now: MonotonicInstant, patience: Duration) {
        let pending = askedAt.withLock { askedAt in
            let pending = askedAt
            askedAt = pending ?? now
            return pending
        }
        guard let pending else {
            hub.registry.probe { [self] result in
                askedAt.withLock { $0 = nil }
                if case .failure(let error) = result { report(error) } else { report(nil) }
            }
            return
        }
        if now - pending >= patience { report(StoreError("no answer within timeouts.registry")) }
    }

    private func report(_ failure: StoreError?) {
        guard hub.health.registry(isReady: failure == nil) else { return }
        hub.logs.storeEvent("registry", isUp: failure == nil, failure?.description ?? "")
    }
}
