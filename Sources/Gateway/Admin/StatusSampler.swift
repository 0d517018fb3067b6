import Attestation
import Background
import EventLoop
import Judgement
import KeyStore
import Policy
import Settings
import Telemetry

/// Copies the counts of the meters into the history.
enum StatusSampler {
    /// The time between two samples. A sample reads every counter, much as a scrape does. A tenth
    /// of a minute is accurate enough for slots of a minute.
    static let interval = Duration.seconds(6)

    static func sample(_ hub: Hub, at now: MonotonicInstant) {
        let gateway = gatewayCounters(hub)
        // Requests of operators are not part of the history.
        let routes = MetricsPage.meters(hub.workerMeters).map {
            ($0.route, counters(of: $0.meters))
        }
        let apps = appCounts(hub)
        let versions = versionCounters(hub, apps)
        let platforms = platformCounters(apps)
        let upstreams = upstreamCounters(hub)
        let stores = storeCounters(hub)
        // A server that accepts no connection counts a failure but no request.
        let servers = ServerFigures.all(hub).map {
            (server: $0.remembered, count: $0.requestCount &+ $0.failureCount)
        }
        let seconds = WallClock.now().seconds
        let failures = hub.clientFailures.counts
        let uses = ForeignUse.counts(hub)
        let names = hub.meters.reduce(into: Set<String>()) { $0.formUnion($1.quotas.names) }
        let quotas = names.map { ($0, QuotaFigures.counters(of: $0, hub)) }
        hub.history.withLock { history in
            let minute = history.minute
            history.gateway.take(StatusHistory.whole, gateway, at: minute)
            for (name, counters) in routes { history.routes.take(name, counters, at: minute) }
            for (name, counters) in versions { history.versions.take(name, counters, at: minute) }
            for (name, counters) in platforms {
                history.platforms.take(name, counters, at: minute)
            }
            for (name, counters) in upstreams {
                history.upstreams.take(name, counters, at: minute)
            }
            for (name, counters) in stores { history.stores.take(name, counters, at: minute) }
            history.servers.take(servers, at: seconds)
            // First, so that new names find the room of those that were dropped.
            history.failureCauses.keep(Set(failures.causes.keys))
            history.failureVersions.keep(Set(failures.versions.keys))
            for (name, count) in failures.causes {
                history.failureCauses.take(name, [count], at: minute)
            }
            for (name, count) in failures.versions {
                history.failureVersions.take(name, [count], at: minute)
            }
            for (name, counters) in quotas { history.quotas.take(name, counters, at: minute) }
            for (use, count) in uses { history.foreignUses.take(use, [count], at: minute) }
            history.advance(to: now)
        }
    }

    private static func gatewayCounters(_ hub: Hub) -> [UInt64] {
        func ended(_ endpoint: AppEndpoint) -> UInt64 {
            hub.meters.reduce(0) {
                $0 &+ ($1.routeMeters[endpoint.routeName]?.count(.answered, .ok) ?? 0)
            }
        }
        func failed(_ reason: Reason) -> UInt64 {
            hub.meters.reduce(0) { sum, meter in
                sum &+ meter.routeMeters.values.reduce(0) { $0 &+ $1.count(.refused, reason) }
            }
        }
        func sum(_ count: WorkerMeter.Count) -> UInt64 {
            hub.meters.reduce(0) { $0 &+ $1.value(count) }
        }
        let events = hub.logs.eventCounts
        var signatures = HistogramSnapshot(SignatureTimes.bounds)
        for meter in hub.meters { signatures.add(meter.signatures.histogram) }
        let counters = StatusHistory.GatewayColumn.allCases.map { column -> UInt64 in
            switch column {
            case .attestChallenges: ended(.attestChallenge)
            case .attested: ended(.attestVerify)
            case .firstAssertions: sum(.firstAssertions)
            case .verified:
                hub.meters.reduce(0) { sum, meter in
                    sum
                        &+ meter.routeMeters.values.reduce(0) { sum, route in
                            sum
                                &+ RolloutSide.allCases.reduce(0) {
                                    $0 &+ route.count(.verified, $1)
                                }
                        }
                }
            case .conflicts: sum(.counterConflicts)
            case .linesLost: linesLost(hub)
            case .internalFailures: failed(.internalFailure)
            case .storeUnavailable: sum(.storeFailures)
            case .busy: failed(.gatewayBusy)
            case .retriesDenied: sum(.retriesDenied)
            case .registryFailures: events["registry_failed"] ?? 0
            case .receiptsInvalid: hub.renewalMeter.value(.receiptInvalid)
            case .appleKeyRefusals: hub.apple.refusals.reduce(0) { $0 &+ $1.1 }
            }
        }
        return counters + signatures.bucketCounts
    }

    static func linesLost(_ hub: Hub) -> UInt64 {
        let lost = hub.logs.access?.droppedLineCount ?? 0
        guard hub.logs.events !== hub.logs.access else { return lost }
        return lost &+ (hub.logs.events?.droppedLineCount ?? 0)
    }

    private static func counters(of meters: [RouteMeter]) -> [UInt64] {
        func sum(_ value: (RouteMeter) -> UInt64) -> UInt64 {
            meters.reduce(0) { $0 &+ value($1) }
        }
        let columns = StatusHistory.RouteColumn.allCases.map { column in
            switch column {
            case .ended:
                sum { meter in (0..<10).reduce(0) { $0 &+ meter.count(statusClass: $1) } }
            case .refused: sum { $0.gatewayRefusalCount }
            case .wouldBeRefused: sum { $0.wouldBeRefusedCount }
            case .serverErrors: sum { $0.count(statusClass: 5) }
            case .invalidProofs:
                sum { meter in Reason.invalidProofs.reduce(0) { $0 &+ meter.count($1) } }
            case .challengesExpired: sum { $0.count(.challengeExpired) }
            }
        }
        let buckets = RequestBucket.allCases.map { bucket in
            sum { $0.count(bucket, .enforced) &+ $0.count(bucket, .observed) }
        }
        var durations = HistogramSnapshot(.requestDuration)
        for meter in meters { durations.add(meter.duration) }
        return columns + buckets + durations.bucketCounts
    }

    /// The counts of each app, by its id.
    private static func appCounts(_ hub: Hub) -> [String: AppCounts] {
        let ids = hub.meters.reduce(into: Set<String>()) { $0.formUnion($1.appIDs) }
        return ids.reduce(into: [:]) { apps, id in
            var counts = AppCounts()
            for meter in hub.meters { meter.addCounts(of: id, to: &counts) }
            apps[id] = counts
        }
    }

    private static func versionCounters(
        _ hub: Hub, _ apps: [String: AppCounts]
    ) -> [(StatusHistory.Version, [UInt64])] {
        apps.flatMap { id, counts in
            hub.namedVersions.history.rows(of: id, counts).map {
                let name = StatusHistory.Version(
                    app: id, platform: counts.platform, version: $0.version)
                return (name, $0.counts)
            }
        }
    }

    private static func platformCounters(
        _ apps: [String: AppCounts]
    ) -> [PlatformName: [UInt64]] {
        apps.values.reduce(into: [:]) { platforms, counts in
            let columns = StatusHistory.PlatformColumn.allCases.map { column in
                switch column {
                case .attested: counts.count(of: .attested)
                case .firstAssertions: counts.count(of: .firstAssertion)
                case .verified: counts.verified
                }
            }
            let sums = platforms[counts.platform] ?? columns.map { _ in 0 }
            platforms[counts.platform] = zip(sums, columns).map { $0 &+ $1 }
        }
    }

    private static func upstreamCounters(_ hub: Hub) -> [(String, [UInt64])] {
        let servers = ServerFigures.all(hub)
        let names = hub.meters.reduce(into: Set<String>()) { $0.formUnion($1.upstreams.keys) }
        return names.map { name in
            let own = servers.filter { $0.label.upstream == name }
            var durations = HistogramSnapshot(.requestDuration)
            for meter in hub.meters {
                if let histogram = meter.upstreams[name] { durations.add(histogram) }
            }
            let columns = StatusHistory.UpstreamColumn.allCases.map { column in
                own.reduce(0) {
                    $0 &+ (column == .requests ? $1.requestCount : $1.failureCount)
                }
            }
            return (name, columns + durations.bucketCounts)
        }
    }

    private static func storeCounters(_ hub: Hub) -> [(String, [UInt64])] {
        let operations = Dictionary(grouping: StoreOperation.allCases, by: \.store)
        return operations.map { store, operations in
            var durations = HistogramSnapshot(.storeDuration)
            for operation in operations {
                for meter in hub.meters { durations.add(meter.duration(of: operation)) }
            }
            return (store, durations.bucketCounts)
        }
    }
}

extension Reason {
    /// The reasons of the alarm SallyportInvalidProofs.
    fileprivate static let invalidProofs: [Reason] = [
        .attestationInvalid, .assertionInvalid, .keyUnknown,
    ]

    /// True if the gateway refuses the request, false if an upstream fails or a client leaves.
    fileprivate var isOfGateway: Bool {
        switch self {
        case .ok, .upstreamFailed, .upstreamBusy, .upstreamTimeout, .clientClosed: false
        default: true
        }
    }
}

extension RouteMeter {
    /// The count of a reason, whatever was decided for it.
    fileprivate func count(_ reason: Reason) -> UInt64 {
        Decision.allCases.reduce(0) { $0 &+ count($1, reason) }
    }

    /// The number of requests that the gateway refused.
    var gatewayRefusalCount: UInt64 {
        Reason.allCases.filter(\.isOfGateway).reduce(0) { $0 &+ count(.refused, $1) }
    }

    /// The number of requests that the route would have refused if it enforced for all clients.
    var wouldBeRefusedCount: UInt64 {
        RequestBucket.allCases.reduce(0) { sum, bucket in
            guard bucket.isJudged, !bucket.isGood else { return sum }
            return sum &+ count(bucket, .observed)
        }
    }
}
