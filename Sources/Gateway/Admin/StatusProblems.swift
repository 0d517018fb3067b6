import Background
import EventLoop
import Judgement
import Policy
import Settings

/// Finds what is the matter now. The same bounds hold as for the alarms in `deploy/prometheus`.
struct StatusInspection {
    let hub: Hub
    let site: Site
    /// Seconds since 1970.
    let now: Int64
    let history: StatusHistory

    var problems: [StatusProblem] {
        // Of several of one level the first heads the page: what is always so comes last.
        life + stores + certificates + reload + upstreams + upstreamFailures + serverErrors
            + rollouts + failures + proofs + receipts + resources + trust
    }

    private var life: [StatusProblem] {
        guard hub.health.isDraining else { return [] }
        return [
            StatusProblem(
                .warning, "draining",
                "The gateway is stopping: it serves what is open and takes no new connections.",
                "Nothing is to be done if that was meant.")
        ]
    }

    private var stores: [StatusProblem] {
        let missing = hub.missingStores(for: site)
        let states = [
            ("registry", hub.health.isRegistryReady), ("counters", hub.health.areCountersReady),
        ]
        return states.compactMap { name, isReady in
            guard !isReady || missing.contains(name) else { return nil }
            let title = name == "registry" ? "The registry" : "The counter store"
            return StatusProblem(
                .error, "store_down",
                "\(title) does not answer, so requests that need it cannot be judged.",
                "Start it, make it reachable, or bring its file back; the event store_down says "
                    + "what failed.")
        }
            + (missing.contains("rollout")
                ? [
                    StatusProblem(
                        .error, "rollout_unknown",
                        "The share of a rollout has not been read since the start.",
                        "Make the registry reachable, which keeps it.")
                ] : [])
    }

    private var certificates: [StatusProblem] {
        ListenerCertificate.all(site).filter { $0.isEnding(at: now) }.map { certificate in
            let text = certificate.text(at: now)
            return StatusProblem(
                certificate.notAfter < now ? .error : .warning, "certificate_ending",
                text.prefix(1).uppercased() + text.dropFirst() + ".",
                "Renew it, put the files in place and send SIGHUP.")
        }
    }

    private var reload: [StatusProblem] {
        guard let failure = hub.reloads.failure else { return [] }
        return [
            StatusProblem(
                .warning, "reload_failed",
                "The last reload failed and the configuration before it is in force: "
                    + Self.sentence(failure),
                failure.contains("without a restart")
                    ? "Restart the gateway, or take the change back and send SIGHUP."
                    : "Correct the file (sallyport check names every error) and send SIGHUP.")
        ]
    }

    private var upstreams: [StatusProblem] {
        hub.currentGroups.flatMap { group -> [StatusProblem] in
            let name = group.settings.name
            let servers = ServerFigures.all(hub).filter { $0.label.upstream == name }
            let bad = servers.filter { $0.state != "up" }
            guard !bad.isEmpty else { return [] }
            let list = bad.map { "\($0.label.server) is \($0.state)" }.joined(separator: ", ")
            guard bad.count < servers.count else {
                return [
                    StatusProblem(
                        .error, "upstream_down",
                        "The upstream \(name) has no healthy server: \(list).",
                        "Look at the API, not at the gateway.")
                ]
            }
            return [
                StatusProblem(
                    .warning, "server_down",
                    "\(bad.count) of \(servers.count) servers of the upstream \(name) are out: "
                        + "\(list).",
                    "Look at these servers; the others do their work.")
            ]
        }
    }

    private var trust: [StatusProblem] {
        var found: [StatusProblem] = []
        if !site.settings.trust.extraRoots.isEmpty {
            found.append(
                StatusProblem(
                    .warning, "extra_roots",
                    "trust.extra_roots is set: keys that these roots vouch for pass as if Apple "
                        + "had vouched for them.",
                    "Remove the setting in production; it is for tests only."))
        }
        let developed = site.settings.developerRoutes
        if !developed.isEmpty {
            found.append(
                StatusProblem(
                    .warning, "developer_tokens",
                    "Developer tokens open \(developed.joined(separator: ", ")), and prove "
                        + "nothing about an app.",
                    "Remove developer from accept in production."))
        }
        return found
    }

    private var rollouts: [StatusProblem] {
        RolloutFigures.all(site).compactMap { rollout in
            guard let state = rollout.state, state.status == .heldByGuard else { return nil }
            return StatusProblem(
                .warning, "rollout_held",
                "The guard holds the rollout \(rollout.name) at \(state.percent)%: "
                    + "\(state.evidence.refused) of \(state.evidence.judged) requests were "
                    + "refused.",
                "Find out why below, then run sallyport rollout resume \(rollout.name).")
        }
    }

    /// A sentence of what may end without its full stop.
    private static func sentence(_ text: String) -> String {
        let line = text.split(separator: "\n").joined(separator: "; ")
        return line.hasSuffix(".") || line.hasSuffix("?") ? line : line + "."
    }
}

// MARK: what was counted in the last hour

extension StatusInspection {
    private func lastHour(_ column: StatusHistory.GatewayColumn) -> UInt64 {
        history.gateway.sums(StatusHistory.whole, .hour, at: history.minute)[column.rawValue]
    }

    fileprivate var failures: [StatusProblem] {
        let kinds: [(StatusHistory.GatewayColumn, StatusProblem)] = [
            (
                .internalFailures,
                StatusProblem(
                    .error, "internal_failures",
                    "A fault of the gateway refused requests in the last hour.",
                    "Report it, with the detail that the refusals name.")
            ),
            (
                .storeUnavailable,
                StatusProblem(
                    .warning, "store_unavailable",
                    "Requests of the last hour were refused because a store failed.",
                    "The detail of the refusals names the store and what happened to it.")
            ),
            (
                .busy,
                StatusProblem(
                    .warning, "gateway_busy",
                    "A bound of the gateway was reached in the last hour.",
                    "The detail of the refusals names the bound; it is load, or strangers.")
            ),
            (
                .conflicts,
                StatusProblem(
                    .warning, "key_conflicts",
                    "A counter came again with another challenge in the last hour: two devices "
                        + "may hold one key.",
                    "The event counter_conflict names the key; revoke it if in doubt.")
            ),
            (
                .linesLost,
                StatusProblem(
                    .warning, "log_lines_lost",
                    "Lines of a log were lost in the last hour.",
                    "Make room on its disk, or have its reader keep up.")
            ),
        ]
        return kinds.filter { lastHour($0.0) > 0 }.map(\.1)
    }

    /// Upstreams that fail more often than by accident, though their servers count as up.
    fileprivate var upstreamFailures: [StatusProblem] {
        history.upstreams.names.sorted().compactMap { name in
            let sums = history.upstreams.sums(name, .hour, at: history.minute)
            guard !sums.isEmpty else { return nil }
            let requests = sums[StatusHistory.UpstreamColumn.requests.rawValue]
            let failures = sums[StatusHistory.UpstreamColumn.failures.rawValue]
            guard Self.isMuch(failures, of: requests, percent: 5) else { return nil }
            return StatusProblem(
                .warning, "upstream_failures",
                "\(failures) of \(requests) requests to the upstream \(name) failed in the last "
                    + "hour.",
                "Look at the API: the access log names the server of each.")
        }
    }

    /// Routes whose answers are errors of a server, whoever's.
    fileprivate var serverErrors: [StatusProblem] {
        site.settings.routes.compactMap { route in
            let sums = history.routes.sums(route.name, .hour, at: history.minute)
            guard !sums.isEmpty else { return nil }
            let ended = sums[StatusHistory.RouteColumn.ended.rawValue]
            let errors = sums[StatusHistory.RouteColumn.serverErrors.rawValue]
            guard Self.isMuch(errors, of: ended, percent: 5) else { return nil }
            return StatusProblem(
                .warning, "server_errors",
                "\(errors) of \(ended) requests of the route \(route.name) were answered with 5xx "
                    + "in the last hour.",
                "Look at the API, and at the refusals below for those that the gateway answered.")
        }
    }

    /// Routes and versions with a share of bad proofs that is no accident.
    fileprivate var proofs: [StatusProblem] {
        routeProofs + versionProofs
    }

    private var routeProofs: [StatusProblem] {
        site.settings.routes.compactMap { route in
            let sums = history.routes.sums(route.name, .hour, at: history.minute)
            let buckets = sums.dropFirst(StatusHistory.RouteColumn.allCases.count)
                .prefix(RequestBucket.allCases.count)
            let (invalid, judged) = Self.bad(Array(buckets), [.invalid, .replayed])
            guard Self.isMuch(invalid, of: judged, percent: 5) else { return nil }
            return StatusProblem(
                .warning, "invalid_proofs",
                "\(invalid) of \(judged) requests of the route \(route.name) had a proof in the "
                    + "last hour that does not hold.",
                "The refusals below say why: an attack, or a bad release of the app.")
        }
    }

    private var versionProofs: [StatusProblem] {
        history.versions.names.sorted { ($0.app, $0.version) < ($1.app, $1.version) }
            .compactMap { name in
                let sums = history.versions.sums(name, .hour, at: history.minute)
                let (bad, judged) = Self.bad(
                    sums, [.invalid, .replayed, .outdatedClient, .unknownOrigin, .lowerTier])
                guard Self.isMuch(bad, of: judged, percent: 20) else { return nil }
                return StatusProblem(
                    .warning, "version_refused",
                    "\(bad) of \(judged) requests of version \(name.version) of \(name.app) had "
                        + "no good proof in the last hour.",
                    "It is a bad release if other versions do well: the refusals below say why.")
            }
    }

    /// How many of those that say something are of `buckets`.
    private static func bad(
        _ counts: [UInt64], _ buckets: [RequestBucket]
    ) -> (bad: UInt64, judged: UInt64) {
        guard !counts.isEmpty else { return (0, 0) }
        func sum(_ isMeant: (RequestBucket) -> Bool) -> UInt64 {
            RequestBucket.allCases.filter(isMeant).reduce(0) { $0 &+ counts[Int($1.rawValue)] }
        }
        return (sum { buckets.contains($0) }, sum { $0.isJudged })
    }

    /// Whether `part` is more than so many percent of enough requests to tell.
    private static func isMuch(_ part: UInt64, of whole: UInt64, percent: UInt64) -> Bool {
        whole >= requestCountMin && part * 100 > whole * percent
    }

    /// A share of fewer says nothing.
    private static let requestCountMin: UInt64 = 50

    fileprivate var receipts: [StatusProblem] {
        let meter = hub.renewalMeter
        guard meter.isOn, meter.holdsLease, meter.overdueSeconds(at: now) > 86_400 else {
            return []
        }
        let hours = meter.overdueSeconds(at: now) / 3600
        return [
            StatusProblem(
                .warning, "receipts_overdue",
                "The oldest receipt has been due for \(hours) hours.",
                "Raise receipts.rate, or make Apple's servers reachable.")
        ]
    }

    fileprivate var resources: [StatusProblem] {
        let limit = hub.descriptors.limit
        guard let count = ProcessUsage.descriptorCount, limit > 0, count * 10 > limit * 8 else {
            return []
        }
        return [
            StatusProblem(
                .warning, "descriptors",
                "\(count) of \(limit) file descriptors are in use: connections will have to wait.",
                "Raise LimitNOFILE.")
        ]
    }
}
