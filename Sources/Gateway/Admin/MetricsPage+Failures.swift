import Telemetry

extension MetricsPage {
    static func writeFailures(
        _ counts: ClientFailures.Counts, platform: (String) -> String, _ page: inout MetricFamilies
    ) {
        page.family(
            "sallyport_client_failures_total", .counter,
            help: "Failures that apps report of their side, by what they were about to do, what "
                + "went wrong, and the version of the device's system. Any client may report.")
        for (name, count) in FailureList.sorted(counts.causes) {
            page.sample(
                [
                    ("phase", name.phase.rawValue), ("code", name.code.rawValue),
                    ("os", name.system),
                ], count)
        }
        page.family(
            "sallyport_app_client_failures_total", .counter,
            help: "Failures that apps report, by app, its version, and what went wrong.")
        for (name, count) in FailureList.sorted(counts.versions) {
            page.sample(
                [
                    ("app", name.app), ("platform", platform(name.app)),
                    ("version", name.version), ("code", name.code.rawValue),
                ], count)
        }
        page.family(
            "sallyport_client_failures_dropped_total", .counter,
            help: "Reports of failures beyond what one address may have counted.")
        page.sample([], counts.droppedCount)
    }
}
