import Policy
import Settings
import Telemetry

/// The part of ``MetricsPage`` about the quotas of the configuration.
enum QuotaMetrics {
    static func write(_ hub: Hub, _ site: Site, _ page: inout MetricFamilies) {
        let quotas = site.settings.quotas.map(\.name)
        guard !quotas.isEmpty else { return }
        page.family(
            "sallyport_quota_charged_total", .counter,
            help: "What requests were charged, in what the quota counts.")
        for quota in quotas {
            page.sample([("quota", quota)], hub.charged(of: quota))
        }
        page.family(
            "sallyport_quota_events_total", .counter,
            help: "Requests refused as a quota was exhausted, answers with the number missing or "
                + "numbered, and charges for which the counter store was unavailable.")
        for quota in quotas {
            for event in QuotaMeter.Event.allCases {
                page.sample(
                    [("quota", quota), ("event", event.name)], hub.value(event, of: quota))
            }
        }
    }
}
