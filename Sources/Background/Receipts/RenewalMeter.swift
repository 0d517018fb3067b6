package import KeyStore
import Telemetry

/// The counts of the renewal of receipts. The control thread writes, and any thread may read.
package final class RenewalMeter: Sendable {
    private enum Gauge: Int, CaseIterable {
        case holdsLease
        case dueCount
        case firstDueAt
        /// The index of the ``RenewalPlanner/Pause``, from 1; 0 for none.
        case pause
        case spacing
        case isOn
    }

    private let outcomes = CountBlock(count: RenewalOutcome.allCases.count)
    /// The results that were not kept because of another gateway's work or a revocation.
    private let superseded = CountBlock(count: 1)
    private let gauges = GaugeBlock(count: Gauge.allCases.count)

    package init() {}

    private static let indexes = Dictionary(
        uniqueKeysWithValues: RenewalOutcome.allCases.enumerated().map { ($1, $0) })

    func count(_ outcome: RenewalOutcome) { outcomes.add(Self.indexes[outcome] ?? 0) }
    func countSuperseded(_ count: Int) { superseded.add(0, UInt64(count)) }

    func show(
        isOn: Bool, holdsLease: Bool, backlog: ReceiptBacklog, pause: RenewalPlanner.Pause?,
        spacing: UInt64
    ) {
        set(.isOn, isOn ? 1 : 0)
        set(.holdsLease, holdsLease ? 1 : 0)
        set(.dueCount, Int64(backlog.dueCount))
        set(.firstDueAt, backlog.firstDueAt ?? 0)
        let index = pause.flatMap { RenewalPlanner.Pause.allCases.firstIndex(of: $0) }
        set(.pause, Int64(index.map { $0 + 1 } ?? 0))
        set(.spacing, Int64(clamping: spacing))
    }

    package func value(_ outcome: RenewalOutcome) -> UInt64 {
        outcomes.value(Self.indexes[outcome] ?? 0)
    }
    package var supersededCount: UInt64 { superseded.value(0) }
    package var isOn: Bool { gauge(.isOn) != 0 }
    package var holdsLease: Bool { gauge(.holdsLease) != 0 }
    package var dueCount: Int64 { gauge(.dueCount) }
    package var pause: RenewalPlanner.Pause? {
        let index = Int(gauge(.pause))
        return index == 0 ? nil : RenewalPlanner.Pause.allCases[index - 1]
    }

    package var spacingNanoseconds: UInt64 { UInt64(max(0, gauge(.spacing))) }

    /// The seconds for which the oldest receipt has been due.
    package func overdueSeconds(at now: Int64) -> Int64 {
        let first = gauge(.firstDueAt)
        return first > 0 ? max(0, now - first) : 0
    }

    private func set(_ gauge: Gauge, _ value: Int64) { gauges.set(gauge.rawValue, value) }
    private func gauge(_ gauge: Gauge) -> Int64 { gauges.value(gauge.rawValue) }
}
