package import EventLoop
package import KeyStore

/// Reports when the registry's log is longer than it should be and which process holds it, when
/// counters are refused because of it, and when it is short again.
package final class RegistryLogWatch {
    private enum Told {
        case short
        case grown
        case full
    }

    private let subject: RegistryLog?
    private let log: any EventLog
    private var told = Told.short
    private var repeated = RepeatedEvents()

    package init(_ subject: RegistryLog?, log: any EventLog) {
        self.subject = subject
        self.log = log
    }

    /// Must be called about once a second.
    package func look(at now: MonotonicInstant) {
        guard let subject else { return }
        let next: Told = subject.isFull ? .full : subject.isGrown(at: now) ? .grown : .short
        guard next != told else { return }
        told = next
        let size = "the registry's log (-wal) has \(subject.byteCount >> 20) MiB"
        switch next {
        case .short:
            log.event(level: "info", "registry_log_short", "\(size) again")
        case .grown:
            log.event(
                level: "warning", "registry_log_grown",
                repeated.turn(
                    "registry_log_grown",
                    "\(size) and grows with each write: \(subject.reason); end that, or from"
                        + " \(subject.byteCountMax >> 20) MiB on (limits.registry_log) counters are"
                        + " not written", of: "grown", at: now))
        case .full:
            log.event(
                level: "error", "registry_log_full",
                repeated.turn(
                    "registry_log_full",
                    "\(size), which is all of limits.registry_log: replay: durable is refused, and"
                        + " accepted counters wait in their files: \(subject.reason); end that",
                    of: "full", at: now))
        }
    }
}
