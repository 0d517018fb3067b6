import EventLoop
import Settings
import Telemetry

/// The failures that apps report of their side, counted for metrics and the status page. They have
/// no other effect, because a report may lie.
///
/// Shared by the workers: reports are few, and each address has a limit.
final class ClientFailures: Sendable {
    struct Counts: Sendable {
        fileprivate(set) var causes: [FailureCause: UInt64] = [:]
        fileprivate(set) var versions: [FailureVersion: UInt64] = [:]
        /// The number of reports beyond those that one address may have counted.
        fileprivate(set) var droppedCount: UInt64 = 0
    }

    private struct State {
        var causes = FailureTally<FailureCause>(namedCountMax: ClientFailures.nameCountMax)
        var versions = FailureTally<FailureVersion>(namedCountMax: ClientFailures.nameCountMax)
        var droppedCount: UInt64 = 0
    }

    private let state = Locked(State())

    var counts: Counts {
        state.withLock {
            Counts(
                causes: $0.causes.counts, versions: $0.versions.counts,
                droppedCount: $0.droppedCount)
        }
    }

    /// Counts a report. `apps`: the App IDs that have a name here.
    func count(_ report: FailureReport, apps: [String], at now: MonotonicInstant) {
        let cause = FailureCause(report)
        let version = FailureVersion(report, apps: apps)
        let minute = Int(clamping: now.nanoseconds / 60_000_000_000)
        state.withLock { state in
            state.causes.count(cause, orAs: cause.summary, at: minute)
            state.versions.count(version, orAs: version.summary, at: minute)
        }
    }

    func drop() { state.withLock { $0.droppedCount += 1 } }

    /// The limit of each address, which no setting changes. In five minutes 13 of its reports pass,
    /// whatever their codes, and the alarms ask for more than 20, so that no single address rings
    /// one. A device reports a failure once and tries ever more rarely, so that devices that share
    /// an address are still heard.
    /// address are still heard.
    static let rateLimit = RateLimit(
        // The name of a setting has no space.
        RateLimitSettings(
            name: "client failures", subject: .address,
            rate: .init(count: 1, period: .minute), burst: 8))

    /// The most names: some ten systems with ten failures each, and room. With the summaries each
    /// metric has fewer than 600 series.
    static let nameCountMax = 256
}
