import Attestation
import Bytes
import EventLoop
import Judgement
import KeyStore
import Policy
import Settings
import Synchronization
import Telemetry

/// `/metrics`: the counts of all workers.
enum MetricsPage {
    /// The page in Prometheus' text format.
    static func text(_ hub: Hub, site: Site) -> ByteBuffer {
        PrometheusText.encode(families(hub, site: site))
    }

    /// The families of the page, which are exported by OTLP as well.
    static func families(_ hub: Hub, site: Site) -> MetricFamilies {
        var page = MetricFamilies()
        writeRoutes(hub, &page)
        writeBuckets(hub, &page)
        writeApps(hub, site, &page)
        writeFailures(
            hub.clientFailures.counts, platform: { site.platform(ofApp: $0) }, &page)
        writeRollouts(site, &page)
        writeWorkers(hub, &page)
        writeServers(hub, &page)
        writeDurations(hub, &page)
        writeKeys(hub, site, &page)
        writeHandshakes(hub, &page)
        writeCertificates(site, &page)
        writeSignals(hub, site, &page)
        writeProofs(hub, site, &page)
        QuotaMetrics.write(hub, site, &page)
        writeAndroid(hub, site, &page)
        writeApple(hub, &page)
        writeReceipts(hub, &page)
        writeState(hub, site, &page)
        writeProcess(hub, site, &page)
        writeExports(hub, &page)
        return page
    }

    /// The meters of all workers by route name, in a stable order.
    static func meters(_ hub: Hub) -> [(route: String, meters: [RouteMeter])] {
        meters(hub.meters[...])
    }

    /// The meters of some workers.
    static func meters(
        _ workers: ArraySlice<WorkerMeter>
    ) -> [(route: String, meters: [RouteMeter])] {
        var byName: [String: [RouteMeter]] = [:]
        for meter in workers {
            for (name, routeMeter) in meter.routeMeters {
                byName[name, default: []].append(routeMeter)
            }
        }
        return byName.sorted { $0.key < $1.key }.map { (route: $0.key, meters: $0.value) }
    }

    private static func writeRoutes(_ hub: Hub, _ page: inout MetricFamilies) {
        let meters = meters(hub)
        page.family(
            "sallyport_requests_total", .counter,
            help: "Exchanges that have ended, by route, decision and reason.")
        for (route, meters) in meters {
            for decision in Decision.allCases {
                for reason in Reason.allCases {
                    let count = meters.reduce(0) { $0 &+ $1.count(decision, reason) }
                    guard count > 0 else { continue }
                    page.sample(
                        [
                            ("route", route), ("decision", decision.name.description),
                            ("reason", reason.code.description),
                        ], count)
                }
            }
        }
        writeStandings(meters, &page)
        page.family(
            "sallyport_responses_total", .counter, help: "Answers by route and status class.")
        for (route, meters) in meters {
            for statusClass in 1...5 {
                let count = meters.reduce(0) { $0 &+ $1.count(statusClass: statusClass) }
                guard count > 0 else { continue }
                page.sample([("route", route), ("class", "\(statusClass)xx")], count)
            }
        }
        page.family(
            "sallyport_request_duration_seconds", .histogram,
            help: "The time from the first byte of a request to the last of its response.")
        for (route, meters) in meters {
            var snapshot = HistogramSnapshot(.requestDuration)
            for meter in meters { snapshot.add(meter.duration) }
            page.histogram([("route", route)], snapshot)
        }
    }

    private static func writeStandings(
        _ meters: [(route: String, meters: [RouteMeter])], _ page: inout MetricFamilies
    ) {
        page.family(
            "sallyport_tier_requests_total", .counter,
            help: "Exchanges of attested routes, by what their proof was worth.")
        for (route, meters) in meters {
            for tier in TrustTier.allCases {
                let count = meters.reduce(0) { $0 &+ $1.count(tier) }
                guard count > 0 else { continue }
                page.sample([("route", route), ("tier", tier.name.description)], count)
            }
        }
        let counters: [(String, String, (RouteMeter) -> UInt64)] = [
            (
                "sallyport_outdated_requests_total",
                "Exchanges of apps older than min_bundle_version that were not refused for it.",
                { $0.outdatedCount }
            ),
            (
                "sallyport_risk_requests_total",
                "Exchanges of keys whose risk metric is above the route's threshold.",
                { $0.riskyCount }
            ),
        ]
        for (name, help, value) in counters {
            page.family(name, .counter, help: help)
            for (route, meters) in meters {
                let count = meters.reduce(0) { $0 &+ value($1) }
                if count > 0 { page.sample([("route", route)], count) }
            }
        }
    }

    private static func writeEnrolmentDetails(_ hub: Hub, _ page: inout MetricFamilies) {
        var counts: [String: UInt64] = [:]
        for meter in hub.meters {
            for (detail, count) in meter.enrolmentDetails.counts {
                counts[detail, default: 0] &+= count
            }
        }
        for detail in PlatformEntry.all.flatMap(\.countedDetails) + [SuccessionOutcome.counted] {
            page.family(detail.metric, .counter, help: detail.help)
            let prefix = detail.name + "="
            for (name, count) in counts.sorted(by: { $0.key < $1.key })
            where name.hasPrefix(prefix) {
                page.sample([(detail.label, String(name.dropFirst(prefix.count)))], count)
            }
        }
    }

    private static func writeWorkers(_ hub: Hub, _ page: inout MetricFamilies) {
        for (count, name, help) in workerCounters {
            page.family(name, .counter, help: help)
            page.sample([], hub.meters.reduce(0) { $0 &+ $1.value(count) })
        }
        writeEnrolmentDetails(hub, &page)
        page.family(
            "sallyport_waits_total", .counter,
            help: "Times that an exchange had to wait, by the phase it waited in.")
        for phase in Phase.allCases {
            let count = hub.meters.reduce(0) { $0 &+ $1.waitCount(phase) }
            guard count > 0 else { continue }
            page.sample([("phase", phase.name)], count)
        }
        page.family("sallyport_connections", .gauge, help: "Client connections that are open.")
        for (index, meter) in hub.workerMeters.enumerated() {
            page.sample([("worker", "\(index)")], meter.connectionCount)
        }
        page.family("sallyport_tunnels", .gauge, help: "WebSockets that are open.")
        for (index, meter) in hub.workerMeters.enumerated() {
            page.sample([("worker", "\(index)")], meter.tunnelCount)
        }
    }

    private static func writeSignals(_ hub: Hub, _ site: Site, _ page: inout MetricFamilies) {
        guard let rules = site.signals else { return }
        page.family(
            "sallyport_signals_total", .counter,
            help: "Requests on which a signal was raised, whatever followed.")
        for signal in Signal.allCases {
            guard let rule = rules.rule(of: signal) else { continue }
            page.sample(
                [("signal", rule.name)],
                hub.meters.reduce(0) { $0 &+ $1.raisedCount(signal) })
        }
        if let bits = rules.deviceBits { writeDeviceBits(hub, bits.names, &page) }
    }

    private static func writeState(_ hub: Hub, _ site: Site, _ page: inout MetricFamilies) {
        page.family("sallyport_store_up", .gauge, help: "1 if the store answered last time.")
        page.sample([("store", "registry")], UInt64(hub.health.isRegistryReady ? 1 : 0))
        page.sample([("store", "counters")], UInt64(hub.health.areCountersReady ? 1 : 0))
        if let hearing = hub.registry.hearing {
            page.family(
                "sallyport_revocations_age_seconds", .gauge,
                help: "The time since all changes of the registry were last read.")
            page.sample([], nanoseconds: hearing.age(at: .now()).wholeNanoseconds)
        }
        if let log = hub.registry.writeAheadLog {
            page.family(
                "sallyport_registry_log_bytes", .gauge,
                help: "The size of the registry's write-ahead log.")
            page.sample([], UInt64(log.byteCount))
        }
        if let quotas = hub.counters.quotas {
            page.family("sallyport_quota_counts", .gauge, help: "Counts of quotas in memory.")
            page.sample([], UInt64(quotas.countCount))
        }
        page.family(
            "sallyport_floor_keys", .gauge,
            help: "Keys with counters that the registry does not have yet.")
        page.sample([], UInt64(hub.floors.keyCount))
        page.family(
            "sallyport_floors_lag_seconds", .gauge,
            help: "Age of the oldest accepted counter that is not on the registry's disk.")
        let lag = hub.floors.lag(now: MonotonicInstant.now().milliseconds)
        page.sample([], nanoseconds: UInt64(lag) * 1_000_000)
        page.family(
            "sallyport_trust_extra_roots", .gauge,
            help: "Roots trusted in addition to Apple's: must be 0 in production.")
        page.sample(
            [],
            UInt64(
                site.settings.trust.extraRoots.count + site.settings.trust.androidRoots.count))
        page.family(
            "sallyport_developer_token_routes", .gauge,
            help: "Routes that accept developer tokens: must be 0 in production.")
        page.sample([], UInt64(site.settings.developerRoutes.count))
        page.family(
            "sallyport_log_lines_dropped_total", .counter,
            help: "Lines lost because the log's destination was too slow or accepted none.")
        page.sample([("log", "access")], hub.logs.access?.droppedLineCount ?? 0)
        if hub.logs.events !== hub.logs.access {
            page.sample([("log", "events")], hub.logs.events?.droppedLineCount ?? 0)
        }
    }
}
