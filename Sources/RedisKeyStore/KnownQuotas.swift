import Bytes
import EventLoop
import KeyStore

/// The histories of counts that the workers of one process have seen in Redis' answers.
///
/// A primary that takes over may lack what was charged last. Each charge brings along what is known
/// here, and after a loss a worker sends all of it. So a count falls back to no less than what any
/// living gateway has seen of it.
public final class KnownQuotas: Sendable {
    /// The incarnation of charges that were made before Redis told its own. Processes differ in it,
    /// so that what they could not send adds up.
    let ownIncarnation = UInt32.random(in: 1 ... .max)

    /// The most counts that are remembered, twice 130 bytes each with what was remembered before
    /// them: those of six seconds at 10,000 requests a second, and replicas are rarely behind by
    /// more.
    static let countMax = 65_536

    private struct State: Sendable {
        var current: [QuotaCount: QuotaHistory] = [:]
        /// The counts that were current until there were ``countMax`` of them.
        var previous: [QuotaCount: QuotaHistory] = [:]
        var recalledAt: MonotonicInstant?

        func history(of count: QuotaCount) -> QuotaHistory {
            current[count] ?? previous[count] ?? QuotaHistory()
        }

        mutating func set(_ history: QuotaHistory, of count: QuotaCount) {
            if current.count >= KnownQuotas.countMax, current[count] == nil {
                previous = current
                current = [:]
            }
            current[count] = history
        }
    }

    private let state = Locked(State())

    public init() {}

    /// The known history of a count; empty if nothing is known.
    func history(of count: QuotaCount) -> QuotaHistory {
        state.withLock { $0.history(of: count) }
    }

    /// Notes what Redis has answered.
    func note(_ history: QuotaHistory, of count: QuotaCount) {
        state.withLock { state in
            var known = state.history(of: count)
            known.merge(history)
            state.set(known, of: count)
        }
    }

    /// Notes a charge that Redis may not have, under the incarnation to which it was sent: the next
    /// charge of the count brings it along. If Redis has it, that changes nothing.
    func noteUnanswered(_ charge: QuotaCharge, in incarnation: UInt32) {
        state.withLock { state in
            var known = state.history(of: charge.count)
            known.make(charge, in: incarnation)
            state.set(known, of: charge.count)
        }
    }

    /// The counts to send after a loss, or none if another worker has taken them within the last
    /// second.
    func takeForRecall(at now: MonotonicInstant) -> [QuotaCount] {
        state.withLock { state in
            if let last = state.recalledAt, now < last + .seconds(1) { return [] }
            state.recalledAt = now
            return Array(state.current.keys)
                + state.previous.keys.filter { state.current[$0] == nil }
        }
    }
}
