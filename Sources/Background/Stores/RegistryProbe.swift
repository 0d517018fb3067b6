package import EventLoop
package import KeyStore

/// Asks the registry whether it answers: one question at a time,
/// so that a registry that hangs gathers none, and counts as down when it has had its time.
package final class RegistryProbe: Sendable {
    private let registry: any Registry
    private let report: @Sendable (StoreError?) -> Void
    private let askedAt = Locked<MonotonicInstant?>(nil)

    /// `report` is told each time: nil for an answer, else why there is none.
    package init(_ registry: any Registry, report: @escaping @Sendable (StoreError?) -> Void) {
        self.registry = registry
        self.report = report
    }

    /// To be called again and again. `patience`: how long an answer may take.
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
