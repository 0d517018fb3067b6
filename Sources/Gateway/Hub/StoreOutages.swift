import Background
import EventLoop

/// The stores that do not answer, with the last failure of each. An outage may begin for one reason
/// and go on for another: a server that was stopped may come back with an invalid certificate.
final class StoreOutages: Sendable {
    private enum News {
        case none
        case told
        /// The reason was logged within the last minute, or too many were, because reasons may
        /// alternate.
        case leftOut(isOwed: Bool)
    }

    private struct Contents {
        var reasons: [String: String] = [:]
        var repeated = RepeatedEvents()

        mutating func note(_ store: String, _ failure: String?) -> News {
            let last = reasons[store]
            reasons[store] = failure
            guard failure != last else { return .none }
            guard let failure, last != nil else { return .told }
            let text = "\(store): \(failure)"
            switch repeated.turn("store_down", text, at: MonotonicInstant.now()) {
            case .told: return .told
            case .repeated: return .leftOut(isOwed: false)
            case .crowdedOut: return .leftOut(isOwed: true)
            }
        }
    }

    private let contents = Locked(Contents())

    /// The last failure of a store that does not answer. Nil if it answers.
    func reason(of store: String) -> String? { contents.withLock { $0.reasons[store] } }

    /// Logs that a store has gone and why, that the reason has changed, or that the store is back
    /// (`failure` is nil).
    func note(_ store: StaticString, _ failure: String?, in logs: LogWriters) {
        switch contents.withLock({ $0.note("\(store)", failure) }) {
        case .none: break
        case .told: logs.storeEvent(store, isUp: failure == nil, failure ?? "")
        case .leftOut(let isOwed): logs.leftOut("store_down", isOwed: isOwed)
        }
    }
}
