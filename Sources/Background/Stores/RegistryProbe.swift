package import EventLoop
package import KeyStore

/// Asks the registry if it answers, one question at a time. So a registry that hangs does not
/// collect questions, and it counts as down when its time is over.
package final class RegistryProbe: Sendable {
    private let registry: any Registry
    private let report: @Sendable (StoreError?) -> Void
    private let askedAt = Locked<MonotonicInstant?>(nil)

    /// `report` is called each time: with nil for an answer, else with the failure.
    package init(_ registry: any Registry, report: @escaping @Sendable (StoreError?) -> Void) {
        self.registry = registry
        self.report = report
    }

    /// Asks a question. To be called again and again. `patience`: the time for an answer.
    package func ask(at now: MonotonicInstant, patience: Duration) {
        let pending = askedAt.withLock { askedAt in
            let pending = askedAt
            askedAt = pending ?? now
            return pending
        }
        guard let pending else {
            registry.probe { [self] result in
                askedAt.withLock { $0 = nil }
                if case .failure(let error) = result { report(error) } else { report(nil) }
            }
            return
        }
        if now - pending >= patience { report(StoreError("no answer within timeouts.registry")) }
    }
}
