import Background
import EventLoop

/// The stores that do not answer, with the last failure of each. An outage may begin for one reason
/// and go on for another: a server that was stopped may come back with an invalid certificate.
final class StoreOutages: Sendable {
    private struct Contents {
        var reasons: [String: String] = [:]
        var repeated = RepeatedEvents()

        /// Nil if nothing has changed. Another reason is left out if it was told within the last
        /// minute: reasons may take turns.
        mutating func note(_ store: StaticString, _ failure: String?) -> RepeatedEvents.Turn? {
            let last = reasons["\(store)"]
            reasons["\(store)"] = failure
            guard failure != last else { return nil }
            guard let failure else { return .told("\(store): answering again") }
            let text = "\(store): not answering: \(failure)"
            guard last != nil else { return .told(text) }
            let turn = repeated.turn("store_down", text, at: MonotonicInstant.now())
            if case .told = turn { return .told(text) }
            return turn
        }
    }

    private let contents = Locked(Contents())

    /// The last failure of a store that does not answer. Nil if it answers.
    func reason(of store: String) -> String? { contents.withLock { $0.reasons[store] } }

    /// Logs that a store has gone and why, that the reason has changed, or that the store is back
    /// (`failure` is nil).
    func note(_ store: StaticString, _ failure: String?, in logs: LogWriters) {
        guard let turn = contents.withLock({ $0.note(store, failure) }) else { return }
        if failure == nil {
            logs.event(level: "info", "store_up", turn)
        } else {
            logs.event(level: "error", "store_down", turn)
        }
    }
}
