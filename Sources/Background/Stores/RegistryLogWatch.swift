package import EventLoop
package import KeyStore

/// Reports when the registry's log is longer than it should be and which process holds it, when
/// counters are refused because of it, and when it is short again.
package final class RegistryLogWatch {
    private enum State {
        case short
        case grown
        case full
    }

    private let subject: RegistryLog?
    private var told: ToldState<State>

    package init(_ subject: RegistryLog?, log: any EventLog) {
        self.subject = subject
        told = ToldState(.short, log: log)
    }

    /// Must be called about once a second.
    package func look(at now: MonotonicInstant) {
        guard let subject else { return }
        let state: State = subject.isFull ? .full : subject.isGrown(at: now) ? .grown : .short
        told.change(to: state, at: now) { Self.event(of: state, subject) }
    }

    private static func event(of state: State, _ subject: RegistryLog) -> ToldState<State>.Event {
        let size = "the registry's log (-wal) has \(subject.byteCount >> 20) MiB"
        return switch state {
        case .short: .init(level: "info", name: "registry_log_short", text: "\(size) again")
        case .grown:
            .init(
                level: "warning", name: "registry_log_grown",
                text: "\(size) and grows with each write: \(subject.reason); end that, or from"
                    + " \(subject.byteCountMax >> 20) MiB on (limits.registry_log) counters are"
                    + " not written", kind: "grown")
        case .full:
            .init(
                level: "error", name: "registry_log_full",
                text:
                    "\(size), which is all of limits.registry_log: replay: durable is refused, and"
                    + " accepted counters wait in their files: \(subject.reason); end that",
                kind: "full")
        }
    }
}
