import EventLoop
import Telemetry

/// The counts of one worker about quotas, by their names. Only its thread writes them. There are as
/// many names as the configuration has.
final class QuotaMeter: Sendable {
    enum Event: Int, CaseIterable {
        /// A request was refused because nothing was left.
        case exhausted
        /// An answer had no number that can be charged.
        case missing
        /// An answer had a number, which was charged.
        case numbered
        /// The counter store did not take a charge.
        case unavailable

        var name: String { "\(self)" }
    }

    /// One count for each event, then the sum of what was charged.
    private let blocks = Locked<[String: CountBlock]>([:])

    func count(_ event: Event, of quota: String) { block(of: quota).add(event.rawValue) }

    /// Counts what a request was charged.
    func count(_ charge: Int, of quota: String) {
        block(of: quota).add(Event.allCases.count, UInt64(charge))
    }

    private func block(of quota: String) -> CountBlock {
        blocks.withLock { blocks in
            if let known = blocks[quota] { return known }
            let fresh = CountBlock(count: Event.allCases.count + 1)
            blocks[quota] = fresh
            return fresh
        }
    }

    /// The quotas that anything was counted of.
    var names: Set<String> { blocks.withLock { Set($0.keys) } }

    func value(_ event: Event, of quota: String) -> UInt64 {
        blocks.withLock { $0[quota]?.value(event.rawValue) ?? 0 }
    }

    /// The sum of what requests were charged.
    func charged(of quota: String) -> UInt64 {
        blocks.withLock { $0[quota]?.value(Event.allCases.count) ?? 0 }
    }
}
