package import EventLoop
package import KeyStore

/// Reports when the counts of quotas do not reach their file, and when they do again.
package final class QuotaWatch {
    private enum State {
        case kept
        case unkept
    }

    private let quotas: EmbeddedQuotas?
    private var told: ToldState<State>

    /// `quotas`: nil if they are kept elsewhere.
    package init(_ quotas: EmbeddedQuotas?, log: any EventLog) {
        self.quotas = quotas
        told = ToldState(.kept, log: log)
    }

    /// Must be called about once a second.
    package func look(at now: MonotonicInstant) {
        guard let quotas else { return }
        let trouble = quotas.fileState.trouble(at: now)
        told.change(to: trouble == nil ? .kept : .unkept, at: now) {
            guard let trouble else {
                return .init(
                    level: "info", name: "quotas_kept",
                    text: "the counts of quotas reach their file again")
            }
            return .init(
                level: "error", name: "quotas_unkept",
                text: "the counts of quotas are in memory alone, and the end of the process would"
                    + " lose them: \(trouble)")
        }
    }
}
