import Judgement
import Policy
import Telemetry

extension MetricsPage {
    static func writeBuckets(_ hub: Hub, _ page: inout MetricFamilies) {
        page.family(
            "sallyport_attested_requests_total", .counter,
            help: "Requests to routes that require a proof, by what it was worth, and by whether "
                + "the route refuses this cohort.")
        for (route, meters) in meters(hub) {
            for side in RolloutSide.allCases {
                for bucket in RequestBucket.allCases {
                    let count = meters.reduce(0) { $0 &+ $1.count(bucket, side) }
                    guard count > 0 else { continue }
                    page.sample(
                        [
                            ("route", route), ("side", side.name.description),
                            ("bucket", bucket.name.description),
                        ], count)
                }
            }
        }
    }

    static func writeApps(_ hub: Hub, _ site: Site, _ page: inout MetricFamilies) {
        page.family(
            "sallyport_app_requests_total", .counter,
            help: "Requests to routes that require a proof, by the app that they claim to be "
                + "from, its version, and by what the proof was worth.")
        let ids = hub.meters.reduce(into: Set<String>()) { $0.formUnion($1.appIDs) }
        for id in ids.sorted() {
            var counts = AppCounts()
            for meter in hub.meters { meter.addCounts(of: id, to: &counts) }
            for row in hub.namedVersions.metrics.rows(of: id, counts) {
                for bucket in RequestBucket.allCases {
                    let count = row.counts[Int(bucket.rawValue)]
                    guard count > 0 else { continue }
                    page.sample(
                        [
                            ("app", id), ("platform", site.platform(ofApp: id)),
                            ("version", row.version),
                            ("bucket", bucket.name.description),
                        ], count)
                }
            }
        }
    }

    static func writeRollouts(_ site: Site, _ page: inout MetricFamilies) {
        let figures = RolloutFigures.all(site)
        page.family(
            "sallyport_rollout_percent", .gauge,
            help: "The share of keys that is refused, or may attest; absent while unknown.")
        for rollout in figures {
            guard let percent = rollout.percent else { continue }
            page.sample([("route", rollout.name)], UInt64(percent))
        }
        page.family(
            "sallyport_rollout_status", .gauge,
            help: "1 for the status of a rollout that moves by itself.")
        for rollout in figures where rollout.isByPlan {
            let status = rollout.state?.status.rawValue ?? "unknown"
            page.sample([("route", rollout.name), ("status", status)], UInt64(1))
        }
        page.family(
            "sallyport_rollout_changed_timestamp_seconds", .gauge,
            help: "The time of a rollout's last change, and its cause.")
        for rollout in figures {
            guard let state = rollout.state else { continue }
            page.sample(
                [("route", rollout.name), ("cause", state.cause.rawValue)],
                UInt64(max(0, state.changedAt) / 1000))
        }
    }
}
