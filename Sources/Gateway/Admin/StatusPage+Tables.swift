import Administration
import Attestation
import Background
import Bytes
import EventLoop
import Judgement
import KeyStore
import Policy
import Settings
import TLS
import Telemetry

// The page without a script shows all that it shows with one, except for the course over time.
extension StatusPage {
    static func routes(_ document: StatusDocument) -> String {
        let buckets = RequestBucket.allCases
        let workers = document.hub.workerMeters
        let rows = MetricsPage.meters(workers).map { route, meters -> [String] in
            let counts = buckets.map { bucket in
                meters.reduce(0) {
                    $0 &+ $1.count(bucket, .enforced) &+ $1.count(bucket, .observed)
                }
            }
            let refused = meters.reduce(0) { $0 &+ $1.gatewayRefusalCount }
            let name = route == "none" ? "no route" : route
            return [name, "\(refused)", "\(meters.reduce(0) { $0 &+ $1.wouldBeRefusedCount })"]
                + counts.map { "\($0)" }
        }
        return table(
            "Requests since the start",
            ["route", "refused", "would be refused"] + bucketNames, rows)
    }

    static func versions(_ document: StatusDocument) -> String {
        let hub = document.hub
        let ids = hub.meters.reduce(into: Set<String>()) { $0.formUnion($1.appIDs) }
        let rows = ids.sorted().flatMap { id -> [[String]] in
            var counts = AppCounts()
            for meter in hub.meters { meter.addCounts(of: id, to: &counts) }
            return hub.namedVersions.history.rows(of: id, counts)
                .filter { $0.counts.contains { $0 > 0 } }
                .map { [id, counts.platform.text, $0.version] + $0.counts.map { "\($0)" } }
        }
        return table(
            "Apps and versions since the start", ["app", "platform", "version"] + bucketNames,
            rows)
    }

    static func failures(_ document: StatusDocument) -> String {
        table(
            "Failures in apps in the last hour", ["phase", "code", "system", "failures"],
            document.failureCauses(.hour).map {
                [$0.name.phase.rawValue, $0.name.code.rawValue, $0.name.system, "\($0.count)"]
            })
            + table(
                "Failures in apps by version in the last hour",
                ["app", "version", "code", "failures"],
                document.failureVersions(.hour).map {
                    [$0.name.app, $0.name.version, $0.name.code.rawValue, "\($0.count)"]
                })
    }

    private static let bucketNames = RequestBucket.allCases.map {
        $0.name.description.replacing("_", with: " ")
    }

    static func servers(_ document: StatusDocument) -> String {
        table(
            "Upstream servers",
            ["upstream", "server", "state", "requests", "failures", "connections"],
            ServerFigures.all(document.hub).map {
                [
                    $0.label.upstream, $0.label.server, state(of: $0, document),
                    "\($0.requestCount)",
                    "\($0.failureCount)", "\($0.connectionCount)",
                ]
            })
    }

    static func issuers(_ document: StatusDocument) -> String {
        let now = document.instant
        return table(
            "Other issuers",
            [
                "issuer", "tier", "keys", "fetched", "asked again", "tokens accepted",
                "tokens refused", "passed by them alone in the last hour", "in the last day",
            ],
            IssuerFigures.all(document).map { issuer in
                [
                    issuer.settings.name, "\(issuer.settings.tier.name)",
                    issuer.keys.map { "\($0.keyCount)" } ?? "pinned",
                    issuer.ageSeconds(at: now).map { "\($0) s ago" } ?? "",
                    issuer.nextSeconds(at: now).map { $0 > 0 ? "in \($0) s" : "now" } ?? "",
                    "\(issuer.accepted)", "\(issuer.refused)",
                    "\(issuer.alone.reduce(0) { $0 &+ $1.hour })",
                    "\(issuer.alone.reduce(0) { $0 &+ $1.day })",
                ]
            })
    }

    static func quotas(_ document: StatusDocument) -> String {
        let columns: [StatusHistory.QuotaColumn] = [
            .charged, .exhausted, .missing, .unavailable,
        ]
        return table(
            "Quotas in the last hour",
            ["quota", "limit", "charged", "refused", "without the number", "not counted"],
            QuotaFigures.all(document).map { figures in
                [figures.quota.name, QuotaLine.summary(figures.quota)]
                    + columns.map { "\(figures.lastHour($0))" }
            })
    }

    private static func state(of server: ServerFigures, _ document: StatusDocument) -> String {
        server.unasked(document.history, at: document.wall.seconds)
            .map { "\(server.state), \($0)" } ?? server.state
    }

    static func state(_ document: StatusDocument) -> String {
        let (hub, site) = (document.hub, document.site)
        let health = hub.health
        return table(
            "Gateway", ["part", "state"],
            [
                ["registry", health.isRegistryReady ? "up" : "down"],
                ["counters", health.areCountersReady ? "up" : "down"],
                [
                    "configuration",
                    "generation \(site.generation), taken "
                        + WallClock.timestamp(seconds: hub.reloads.takenAt),
                ],
                ["last reload", hub.reloads.failure.map { "failed: \($0)" } ?? "in order"],
                ["receipts", receipts(document)],
            ] + process(document))
            + keys(hub, site)
            + table(
                "Rollouts", ["rollout", "share", "status"],
                RolloutFigures.all(site).map {
                    [
                        $0.name, $0.percent.map { "\($0)%" } ?? "unknown",
                        $0.state?.changeText ?? ($0.isByPlan ? "unknown" : "configured"),
                    ]
                })
            + table(
                "Certificates", ["listener", "name", "ends", "days left"],
                ListenerCertificate.all(site).map {
                    let left = $0.notAfter - document.wall.seconds
                    return [
                        $0.listener, $0.name, WallClock.timestamp(seconds: $0.notAfter),
                        left < 0 ? "expired" : "\(left / 86_400)",
                    ]
                })
            + table(
                "Events since the start", ["event", "count"],
                hub.logs.eventCounts.sorted { $0.key < $1.key }.map { [$0.key, "\($0.value)"] })
    }

    private static func process(_ document: StatusDocument) -> [[String]] {
        let hub = document.hub
        let workers = hub.workerMeters
        var rows = [
            ["version", "\(hub.version) with OpenSSL \(TLSLibrary.version)"],
            ["workers", "\(workers.count)"],
            [
                "connections",
                "\(workers.reduce(0) { $0 + $1.connectionCount }) open, "
                    + String(
                        counting: workers.reduce(0) { $0 + $1.tunnelCount }, "WebSocket"),
            ],
            [
                "descriptors",
                "\(ProcessUsage.descriptorCount ?? 0) of \(hub.descriptors.limit)",
            ],
            ["log lines lost", "\(StatusSampler.linesLost(hub))"],
        ]
        if let usage = ProcessUsage.read() {
            let startedAt = Int64(usage.startedAtNanoseconds / 1_000_000_000)
            rows.append(["started", WallClock.timestamp(seconds: startedAt)])
            rows.append(["memory", "\(usage.residentByteCount / 1_048_576) MiB"])
        }
        return rows
    }

    private static func keys(_ hub: Hub, _ site: Site) -> String {
        guard let tally = hub.keyTally.withLock({ $0 }) else {
            return table("Keys", ["keys"], [["not counted yet"]])
        }
        guard !tally.counts.isEmpty else { return table("Keys", ["keys"], [["none"]]) }
        return table(
            "Keys at \(WallClock.timestamp(seconds: tally.countedAt))",
            ["app", "platform", "environment", "status", "keys"],
            tally.counts.map {
                [
                    $0.appID, site.platform(ofApp: $0.appID), $0.environment.rawValue,
                    $0.status.rawValue, "\($0.count)",
                ]
            })
    }

    private static func receipts(_ document: StatusDocument) -> String {
        let meter = document.hub.renewalMeter
        guard meter.isOn else { return "not renewed" }
        guard meter.holdsLease else { return "another gateway renews them" }
        var text = "this gateway renews them, due \(meter.dueCount)"
        if meter.dueCount > 0 {
            text += ", the oldest for \(meter.overdueSeconds(at: document.wall.seconds)) s"
        }
        if let pause = meter.pause { text += ", paused: \(pause.rawValue)" }
        return text
    }

    static func refusals(_ document: StatusDocument) -> String {
        table(
            "Refusals",
            [
                "time", "request", "client", "route", "method", "host", "path", "status",
                "decision", "reason", "detail", "cause", "most often due to", "what to do",
                "told to", "app", "platform", "version", "environment", "key", "user agent", "ms",
            ],
            RefusalsDocument.records(document.hub).prefix(refusalCountMax).map {
                row(of: $0)
            })
    }

    private static func row(of refusal: RefusalRecord) -> [String] {
        func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
        let explanation = refusal.explanation
        return [
            WallClock.timestamp(seconds: refusal.seconds), text(refusal.requestID),
            refusal.clientText, refusal.route ?? "", text(refusal.method), text(refusal.host),
            text(refusal.path), "\(refusal.status)", refusal.decision.name.description,
            refusal.reason.code.description, refusal.detail ?? "", explanation?.meaning ?? "",
            explanation?.fault.words ?? "", explanation?.remedy ?? "",
            refusal.action?.rawValue ?? "", refusal.app ?? "",
            refusal.platform?.text ?? "", refusal.version ?? "",
            refusal.environment?.rawValue ?? "", refusal.key ?? "", text(refusal.userAgent),
            "\(refusal.durationNanoseconds / 1_000_000)",
        ]
    }

    // MARK: the last hour

    /// The sums of the charts over the last hour.
    static func lastHour(_ document: StatusDocument) -> String {
        let history = document.history
        typealias Column = StatusHistory.GatewayColumn
        let sums = history.gateway.sums(StatusHistory.whole, .hour, at: history.minute)
        let steps: [(String, Column)] = [
            ("challenges for an attestation", .attestChallenges), ("keys attested", .attested),
            ("first assertions of keys", .firstAssertions), ("requests verified", .verified),
        ]
        return table(
            "From challenge to request in the last hour", ["step", "count"],
            sums.isEmpty ? [] : steps.map { [$0.0, "\(sums[$0.1.rawValue])"] })
            + platforms(history)
            + latency(history, verification: sums.dropFirst(Column.allCases.count))
    }

    /// The steps that name a platform, if there are several.
    private static func platforms(_ history: StatusHistory) -> String {
        let names = history.platforms.names.sorted { $0.text < $1.text }
        guard names.count > 1 else { return "" }
        return table(
            "By platform in the last hour",
            ["platform", "keys attested", "first assertions of keys", "requests verified"],
            names.map { platform in
                let sums = history.platforms.sums(platform, .hour, at: history.minute)
                let known = StatusHistory.PlatformColumn.steps(of: platform)
                return [platform.text]
                    + StatusHistory.PlatformColumn.allCases.map {
                        known.contains($0) ? "\(sums[$0.rawValue])" : "not counted"
                    }
            })
    }

    private static func latency(
        _ history: StatusHistory, verification: ArraySlice<UInt64>
    ) -> String {
        let minute = history.minute
        var rows = [row("verification of a signature", verification, SignatureTimes.bounds)]
        for name in history.stores.names.sorted() {
            let sums = history.stores.sums(name, .hour, at: minute)
            rows.append(row("store \(name)", sums[...], .storeDuration))
        }
        for name in history.upstreams.names.sorted() {
            let sums = history.upstreams.sums(name, .hour, at: minute)
            let first = StatusHistory.UpstreamColumn.allCases.count
            rows.append(row("upstream \(name)", sums.dropFirst(first), .requestDuration))
        }
        for name in history.routes.names.sorted() where name != "none" {
            let sums = history.routes.sums(name, .hour, at: minute)
            let first = StatusHistory.RouteColumn.allCases.count + RequestBucket.allCases.count
            rows.append(row("route \(name)", sums.dropFirst(first), .requestDuration))
        }
        return table(
            "Latency in the last hour, in milliseconds",
            ["of", "measured", "half within", "90% within", "99% within"], rows.compactMap(\.self))
    }

    /// A row of percentiles; nil if nothing was measured.
    private static func row(
        _ name: String, _ counts: ArraySlice<UInt64>, _ bounds: HistogramBounds
    ) -> [String]? {
        guard let snapshot = HistogramSnapshot(bounds, bucketCounts: Array(counts)),
            snapshot.count > 0
        else { return nil }
        return [name, "\(snapshot.count)"]
            + [0.5, 0.9, 0.99].map { share in
                snapshot.quantile(share).map { "\(($0 / 1000).rounded() / 1000)" } ?? ""
            }
    }

    /// The number of refusals on the page: without a script there is no search, so only the first
    /// screens of them.
    private static let refusalCountMax = 50
}
