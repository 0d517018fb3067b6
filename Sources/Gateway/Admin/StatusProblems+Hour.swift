import Background
import EventLoop
import Judgement
import Policy
import Settings

// Problems in the counts of the last hour.
extension StatusInspection {
    private func lastHour(_ column: StatusHistory.GatewayColumn) -> UInt64 {
        history.gateway.sums(StatusHistory.whole, .hour, at: history.minute)[column.rawValue]
    }

    private typealias Counted = (StatusHistory.GatewayColumn, StatusProblem)

    var failures: [StatusProblem] {
        (ownFailures + othersFailures).filter { lastHour($0.0) > 0 }.map(\.1)
    }

    /// The failures of the gateway itself, and of its machine.
    private var ownFailures: [Counted] {
        [
            (
                .internalFailures,
                StatusProblem(
                    .error, .internalFailures,
                    "A fault of the gateway refused requests in the last hour.",
                    "Report it, with the detail that the refusals name.")
            ),
            (
                .storeUnavailable,
                StatusProblem(
                    .warning, .storeUnavailable,
                    "Requests of the last hour were refused because a store failed"
                        + said("counters_failed"),
                    "The detail of the refusals names the store and what happened to it.")
            ),
            (
                .registryFailures,
                StatusProblem(
                    .warning, .registryFailed,
                    "A look-up or an enrolment failed in the last hour because of the registry"
                        + said("registry_failed"),
                    "Make room on its disk if that is full, or see sallyport doctor.")
            ),
            (
                .busy,
                StatusProblem(
                    .warning, .gatewayBusy,
                    "A bound of the gateway was reached in the last hour.",
                    "The detail of the refusals names the bound; it is load, or strangers.")
            ),
            (
                .linesLost,
                StatusProblem(
                    .warning, .logLinesLost,
                    "Lines of a log were lost in the last hour.",
                    "Make room on its disk, or make its reader faster.")
            ),
        ]
    }

    /// The failures of other parties.
    private var othersFailures: [Counted] {
        [
            (
                .retriesDenied,
                StatusProblem(
                    .warning, .retriesDenied,
                    "Requests of the last hour were not tried again, because the budget of retries "
                        + "was spent.",
                    "An upstream fails more often than now and then: look at the API.")
            ),
            (
                .conflicts,
                StatusProblem(
                    .warning, .keyConflicts,
                    "A counter came again with another challenge in the last hour: two devices "
                        + "may hold one key.",
                    "The event counter_conflict names the key; revoke it if in doubt.")
            ),
            (
                .receiptsInvalid,
                StatusProblem(
                    .warning, .receiptInvalid,
                    "A receipt that came from Apple in the last hour does not verify"
                        + said("receipt_invalid"),
                    "Find out who answers in Apple's place: look at DNS, proxies and apple.hosts.")
            ),
            (
                .appleKeyRefusals,
                StatusProblem(
                    .warning, .appleKeyRefused,
                    "Apple refused a key of this gateway in the last hour"
                        + said("apple_key_refused"),
                    "See whether it was revoked or lacks the service, and whether this machine's "
                        + "clock is right.")
            ),
        ]
    }

    /// Upstreams that fail more often than by accident, though their servers count as up.
    var upstreamFailures: [StatusProblem] {
        history.upstreams.names.sorted().compactMap { name in
            let sums = history.upstreams.sums(name, .hour, at: history.minute)
            guard !sums.isEmpty else { return nil }
            let failures = sums[StatusHistory.UpstreamColumn.failures.rawValue]
            // A request that found no connection failed without being sent.
            let requests = max(failures, sums[StatusHistory.UpstreamColumn.requests.rawValue])
            guard Self.isMuch(failures, of: requests, percent: 5) else { return nil }
            return StatusProblem(
                .warning, .upstreamFailures,
                "\(failures) of \(requests) requests to the upstream \(name) failed in the last "
                    + "hour.",
                "Look at the API: the access log names the server of each.")
        }
    }

    /// Routes whose answers are errors of a server, of the gateway or of the upstream.
    var serverErrors: [StatusProblem] {
        site.settings.routes.compactMap { route in
            let sums = history.routes.sums(route.name, .hour, at: history.minute)
            guard !sums.isEmpty else { return nil }
            let ended = sums[StatusHistory.RouteColumn.ended.rawValue]
            let errors = sums[StatusHistory.RouteColumn.serverErrors.rawValue]
            guard Self.isMuch(errors, of: ended, percent: 5) else { return nil }
            return StatusProblem(
                .warning, .serverErrors,
                "\(errors) of \(ended) requests of the route \(route.name) were answered with 5xx "
                    + "in the last hour.",
                "Look at the API, and at the refusals below for those that the gateway answered.")
        }
    }

    /// Routes and versions with so large a share of bad proofs that it is no accident.
    var proofs: [StatusProblem] {
        routeProofs + versionProofs
    }

    private var routeProofs: [StatusProblem] {
        // Keys enrol at an endpoint, not at a route.
        let names = site.settings.routes.map(\.name) + AppEndpoint.allCases.map(\.routeName)
        return names.flatMap { name -> [StatusProblem] in
            let sums = history.routes.sums(name, .hour, at: history.minute)
            guard !sums.isEmpty else { return [] }
            func count(_ column: StatusHistory.RouteColumn) -> UInt64 { sums[column.rawValue] }
            let ended = count(.ended)
            var found: [StatusProblem] = []
            let invalid = count(.invalidProofs)
            if Self.isMuch(invalid, of: ended, percent: 5) {
                found.append(
                    StatusProblem(
                        .warning, .invalidProofs,
                        "\(invalid) of \(ended) requests of the route \(name) had no valid proof "
                            + "in the last hour.",
                        "The refusals below say why: an attack, or a bad release of the app."))
            }
            let expired = count(.challengesExpired)
            if Self.isMuch(expired, of: ended, percent: 5) {
                found.append(
                    StatusProblem(
                        .warning, .challengesExpired,
                        "\(expired) of \(ended) requests of the route \(name) had an expired "
                            + "challenge in the last hour.",
                        "The detail of the refusals tells whether the counter store loses its "
                            + "memory (incarnation), a clock is wrong (age), or gateways have "
                            + "different challenge keys (not_ours)."))
            }
            return found
        }
    }

    private var versionProofs: [StatusProblem] {
        history.versions.names.sorted { ($0.app, $0.version) < ($1.app, $1.version) }
            .compactMap { name in
                guard name.version != NamedVersions.unknown else { return nil }
                let sums = history.versions.sums(name, .hour, at: history.minute)
                guard !sums.isEmpty else { return nil }
                let bad = [RequestBucket.invalid, .replayed].reduce(0) {
                    $0 &+ sums[Int($1.rawValue)]
                }
                let all = sums.reduce(0, &+)
                guard Self.isMuch(bad, of: all, percent: 20) else { return nil }
                return StatusProblem(
                    .warning, .versionRefused,
                    "\(bad) of \(all) requests of version \(name.version) of \(name.app) had an "
                        + "invalid proof in the last hour.",
                    "It is a bad release if other versions do well: the refusals below say why.")
            }
    }

    /// True if `part` is more than `percent` percent of `whole`, and `whole` is large enough to
    /// tell.
    static func isMuch(_ part: UInt64, of whole: UInt64, percent: UInt64) -> Bool {
        whole >= requestCountMin && part * 100 > whole * percent
    }

    /// The number of requests below which a share says nothing.
    private static let requestCountMin: UInt64 = 50

    var receipts: [StatusProblem] {
        let meter = hub.renewalMeter
        guard meter.isOn, meter.holdsLease, meter.overdueSeconds(at: now) > 86_400 else {
            return []
        }
        let hours = meter.overdueSeconds(at: now) / 3600
        return [
            StatusProblem(
                .warning, .receiptsOverdue,
                "The oldest receipt has been due for \(hours) hours.",
                "Raise receipts.rate, or make Apple's servers reachable.")
        ]
    }

    var resources: [StatusProblem] { descriptors + logFiles }

    private var logFiles: [StatusProblem] {
        var found: [StatusProblem] = []
        if let failure = hub.logs.reopenFailure {
            found.append(
                StatusProblem(
                    .warning, .logReopenFailed,
                    "A log file that was moved away is still written on: \(failure).",
                    "Let the gateway make the file, and send SIGUSR1."))
        }
        if let (name, time) = hub.logs.longestFileWait, time > Self.fileWaitMax {
            found.append(
                StatusProblem(
                    .warning, .logStuck,
                    "\(name) has waited for its file for \(time.components.seconds) s: its lines "
                        + "are in memory.",
                    "Look at its file system. A restart or an upgrade waits for it, too."))
        }
        return found
    }

    /// A write that takes longer is no slow one.
    private static let fileWaitMax = Duration.seconds(5)

    private var descriptors: [StatusProblem] {
        let limit = hub.descriptors.limit
        guard let count = ProcessUsage.descriptorCount, limit > 0, count * 10 > limit * 8 else {
            return []
        }
        return [
            StatusProblem(
                .warning, .descriptors,
                "\(count) of \(limit) file descriptors are in use: connections will have to wait.",
                "Raise LimitNOFILE.")
        ]
    }
}
