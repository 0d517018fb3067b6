import EventLoop

/// The counts of exports by OTLP. A lock is good enough, because batches are counted, not requests.
package final class ExportMeter: Sendable {
    package enum Signal: String, CaseIterable, Sendable {
        case traces
        case metrics
    }

    /// The result of an export.
    package enum Outcome: String, CaseIterable, Sendable {
        case accepted
        /// The collector asks the client to wait: 429, 502, 503 or 504.
        case throttled
        /// The collector has answered with any other status than 200.
        case refused
        /// There was no answer.
        case failed
    }

    /// The reason why spans were lost.
    package enum Loss: String, CaseIterable, Sendable {
        case queueFull = "queue_full"
        /// The collector has refused the request with these spans.
        case refused
        /// The collector took the request and said that it threw the spans away.
        case rejected
        /// The spans could not be sent for as long as they are kept.
        case undelivered
    }

    private struct Counts {
        var exports: [Signal: [Outcome: UInt64]] = [:]
        var losses: [Loss: UInt64] = [:]
        var failures: [Signal: String] = [:]
        var isOn = false
    }

    private let counts = Locked(Counts())

    package init() {}

    func count(_ signal: Signal, _ outcome: Outcome) {
        counts.withLock { $0.exports[signal, default: [:]][outcome, default: 0] += 1 }
    }

    func drop(_ spanCount: Int, _ loss: Loss) {
        guard spanCount > 0 else { return }
        counts.withLock { $0.losses[loss, default: 0] += UInt64(spanCount) }
    }

    package func failed(_ signal: Signal, _ reason: String) {
        counts.withLock { $0.failures[signal] = reason }
    }

    package func succeeded(_ signal: Signal) { counts.withLock { $0.failures[signal] = nil } }

    /// The reason why the last export of a signal failed; nil if it did not.
    package func failure(of signal: Signal) -> String? {
        counts.withLock { $0.failures[signal] }
    }

    func turnedOn() { counts.withLock { $0.isOn = true } }

    /// True if an export was ever configured since the start.
    package var isOn: Bool { counts.withLock { $0.isOn } }

    package func value(_ signal: Signal, _ outcome: Outcome) -> UInt64 {
        counts.withLock { $0.exports[signal]?[outcome] ?? 0 }
    }

    package func value(_ loss: Loss) -> UInt64 { counts.withLock { $0.losses[loss] ?? 0 } }
}
