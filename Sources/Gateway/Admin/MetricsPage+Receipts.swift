import Background
import EventLoop
import KeyStore
import Telemetry

extension MetricsPage {
    static func writeReceipts(_ hub: Hub, _ page: inout MetricFamilies) {
        let meter = hub.renewalMeter
        page.family(
            "sallyport_receipt_renewals_total", .counter,
            help: "Receipts sent to Apple, by outcome.")
        for outcome in RenewalOutcome.allCases {
            page.sample([("outcome", outcome.rawValue)], meter.value(outcome))
        }
        page.family(
            "sallyport_receipt_renewals_superseded_total", .counter,
            help: "Answers that were discarded because the key was revoked, erased or renewed by "
                + "another gateway.")
        page.sample([], meter.supersededCount)
        page.family(
            "sallyport_receipt_lease_held", .gauge,
            help: "1 on the gateway that renews receipts.")
        page.sample([], UInt64(meter.holdsLease ? 1 : 0))
        page.family(
            "sallyport_receipt_renewal_paused", .gauge,
            help: "1 for the reason why no receipt is sent now.")
        for pause in RenewalPlanner.Pause.allCases {
            page.sample([("reason", pause.rawValue)], UInt64(meter.pause == pause ? 1 : 0))
        }
        // Only the holder of the lease knows these figures; elsewhere they would be long outdated.
        guard meter.holdsLease else { return }
        page.family(
            "sallyport_receipts_due", .gauge,
            help: "Receipts that are due; counted up to 100000.")
        page.sample([], meter.dueCount)
        page.family(
            "sallyport_receipts_overdue_seconds", .gauge,
            help: "The time for which the oldest due receipt has been due.")
        page.sample([], meter.overdueSeconds(at: WallClock.now().seconds))
        page.family(
            "sallyport_receipt_spacing_seconds", .gauge,
            help: "The shortest time between two requests to Apple: one divided by the rate.")
        page.sample([], nanoseconds: meter.spacingNanoseconds)
    }
}
