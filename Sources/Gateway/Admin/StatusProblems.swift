import Background
import Crypto
import EventLoop
import Judgement
import KeyStore
import Policy
import Settings

/// Finds the problems of this moment, by the bounds of the alarms in `deploy/prometheus`.
/// docs/operations/status.md names the alarms that mean the same.
struct StatusInspection {
    let hub: Hub
    let site: Site
    /// Seconds since 1970.
    let now: Int64
    let history: StatusHistory

    var problems: [StatusProblem] {
        // The first of several of one level heads the page, so what is always the case comes last.
        // Refusals of the gateway itself are among the errors of the routes, and come before them.
        life + stores + revocations + registryLog + issuers + android + certificates + reload
            + upstreams
            + failures
            + upstreamFailures + serverErrors + rollouts + questions + clientFailures + floors
            + quotas + proofs + receipts
            + exports + resources + trust + exceptions
    }

    private var life: [StatusProblem] {
        guard hub.health.isDraining else { return [] }
        return [
            StatusProblem(
                .warning, .draining,
                "The gateway is stopping: it serves open connections and accepts no new ones.",
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
                .error, .storeDown,
                "\(title) does not answer, so requests that need it cannot be judged"
                    + Self.end(hub.health.outages.reason(of: name)),
                "Start it, make it reachable, or bring its file back.")
        }
            + (missing.contains("rollout")
                ? [
                    StatusProblem(
                        .error, .rolloutUnknown,
                        "The share of a rollout has not been read since the start.",
                        "Make the registry reachable, which keeps it.")
                ] : [])
    }

    private var revocations: [StatusProblem] {
        guard let silence = hub.revocationSilence else { return [] }
        return [
            StatusProblem(
                .error, .revocationsUnheard,
                "The gateway has not heard of revocations for \(silence.age.components.seconds) s, "
                    + "so \(silence.consequence): " + Self.sentence(silence.reason),
                "Let the gateway read the registry's table of changes; sallyport doctor says what "
                    + "is missing.")
        ]
    }

    private var registryLog: [StatusProblem] {
        guard let log = hub.registry.writeAheadLog, log.isFull || log.isGrown(at: .now()) else {
            return []
        }
        let size = "The registry's log (-wal) has \(log.byteCount >> 20) MiB"
        return [
            StatusProblem(
                log.isFull ? .error : .warning, .registryLog,
                size + (log.isFull ? ", so counters of replay: durable are refused" : "") + ": "
                    + Self.sentence(log.reason),
                "End that process, or its transaction: the log is then emptied at once.")
        ]
    }

    /// Issuers whose keys could not be fetched the last time, or never.
    private var issuers: [StatusProblem] {
        site.settings.proofs.compactMap { proof in
            guard let place = IssuerKeyRegister.Place(proof) else { return nil }
            let figures = hub.issuerKeys.keys(of: place).figures
            guard let failure = figures.failure else {
                guard figures.keyCount == 0 else { return nil }
                return StatusProblem(
                    .error, .jwksMissing,
                    "The keys of \(proof.name) have not come yet, so its tokens cannot be judged.",
                    "Nothing is to be done if that is over in some seconds: \(place.url) has been "
                        + "asked.")
            }
            let remedy =
                (figures.failedBy == .failed
                    ? "Make \(place.url) reachable"
                    : "Check proofs.\(proof.name).jwks: \(place.url) answers with something other "
                        + "than keys") + "; sallyport doctor asks it, too."
            guard figures.keyCount > 0 else {
                return StatusProblem(
                    .error, .jwksMissing,
                    "No keys of \(proof.name) could be fetched, so its tokens cannot be judged: "
                        + Self.sentence(failure), remedy)
            }
            return StatusProblem(
                .warning, .jwksStale,
                "The keys of \(proof.name) could not be renewed, and the old ones count for 24 "
                    + "hours: " + Self.sentence(failure), remedy)
        }
    }

    private var certificates: [StatusProblem] {
        ListenerCertificate.all(site).filter { $0.isEnding(at: now) }.map { certificate in
            let text = certificate.text(at: now)
            return StatusProblem(
                certificate.notAfter < now ? .error : .warning, .certificateEnding,
                text.prefix(1).uppercased() + text.dropFirst() + ".",
                "Renew it, put the files in place and send SIGHUP.")
        }
    }

    private var reload: [StatusProblem] {
        guard let failure = hub.reloads.failure else { return [] }
        return [
            StatusProblem(
                .warning, .reloadFailed,
                "The last reload failed and the configuration before it is in force: "
                    + Self.sentence(failure.description),
                failure.needsRestart
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
            let list = bad.map { "\($0.label.server) is \(state(of: $0))" }
                .joined(separator: ", ")
            // The server's state changes only with a request, so an operator who watches the
            // page without sending one would wait for ever.
            let isUnasked = bad.contains { $0.unasked(history, at: now) != nil }
            let more =
                isUnasked ? " Without a health check only a request tells that it is up." : ""
            guard bad.count < servers.count else {
                return [
                    StatusProblem(
                        .error, .upstreamDown,
                        "The upstream \(name) has no healthy server: \(list).",
                        "Look at the API, not at the gateway." + more)
                ]
            }
            return [
                StatusProblem(
                    .warning, .serverDown,
                    "\(bad.count) of \(servers.count) servers of the upstream \(name) "
                        + "\(bad.count == 1 ? "is" : "are") out: \(list).",
                    "Look there; the others do their work." + more)
            ]
        }
    }

    private func state(of server: ServerFigures) -> String {
        server.unasked(history, at: now).map { "\(server.state) (\($0))" } ?? server.state
    }

    /// The words of the last event of a name, to end a sentence with.
    func said(_ event: String) -> String { Self.end(hub.logs.lastMessage(of: event)) }

    /// The end of a sentence that gives the reason, if there is one.
    private static func end(_ reason: String?) -> String {
        reason.map { ": " + sentence($0) } ?? "."
    }

    /// The problem of counters that are in memory alone.
    private var floors: [StatusProblem] {
        let counts = hub.logs.eventCounts
        // The two events alternate.
        guard counts["floors_unkept"] ?? 0 > counts["floors_kept"] ?? 0 else { return [] }
        return [
            StatusProblem(
                .warning, .floorsUnkept,
                "Accepted counters do not reach their files" + said("floors_unkept"),
                "Look at the file system that is named, or else at the registry's: make room, and "
                    + "let the gateway write there.")
        ]
    }

    private var exports: [StatusProblem] {
        ExportMeter.Signal.allCases.compactMap { signal in
            guard let reason = hub.exports.failure(of: signal) else { return nil }
            return StatusProblem(
                .warning, .exportFailing,
                "No \(signal.rawValue) reach the OpenTelemetry collector: "
                    + Self.sentence(reason),
                "Make the collector of otlp.endpoint take them; sallyport doctor shows what it "
                    + "says. Requests are served all the same.")
        }
    }

    /// Settings that are not for production, or not for long.
    private var exceptions: [StatusProblem] {
        var found: [StatusProblem] = []
        let places = site.settings.detailedPlaces
        if !places.isEmpty {
            found.append(
                StatusProblem(
                    .note, .problemDetail,
                    "problem_detail is on: refusals of \(places.joined(separator: ", ")) tell "
                        + "clients the cause.",
                    "Turn it off in production."))
        }
        if let capture = site.settings.capture {
            found.append(
                StatusProblem(
                    .note, .capture,
                    "capture is on: proofs of refused requests are kept in "
                        + "\(capture.directory).",
                    "Remove the setting and the files once you know the cause."))
        }
        return found
    }

    private var trust: [StatusProblem] {
        var found: [StatusProblem] = []
        if let library = hub.signatures.library, let reason = library.distrust {
            found.append(
                StatusProblem(
                    .error, .signatureLibrary,
                    "\(reason.text(about: library.path)), so it is not used any more"
                        + (reason.isAboutVerdicts ? "; its earlier verdicts may be wrong." : "."),
                    "Set crypto.batch: off, and look at the machine: its memory, its processor "
                        + "and the library's file."))
        }
        if let failure = hub.signatures.unusable {
            found.append(
                StatusProblem(
                    .warning, .signatureLibraryUnusable,
                    "crypto.library is not used, so signatures are verified one at a time, which "
                        + "takes longer: " + Self.sentence(failure.description),
                    "Correct the setting or the file and restart the gateway, or set crypto.batch: "
                        + "off; sallyport doctor tries the library."))
        }
        if site.settings.trust.hasExtraRoots {
            found.append(
                StatusProblem(
                    .warning, .extraRoots,
                    "trust.extra_roots is set: keys that these roots vouch for pass as if Apple or "
                        + "Google had vouched for them.",
                    "Remove the setting in production; it is for tests only."))
        }
        let developed = site.settings.developerRoutes
        if !developed.isEmpty {
            found.append(
                StatusProblem(
                    .warning, .developerTokens,
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
                .warning, .rolloutHeld,
                "The guard holds the rollout \(rollout.name) at \(state.percent)%: "
                    + "\(state.evidence.refused) of \(state.evidence.judged) requests were "
                    + "refused.",
                "Find out why below, then run sallyport rollout resume \(rollout.name).")
        }
    }

    /// `text` as a sentence: with a full stop at the end if it has none.
    static func sentence(_ text: String) -> String {
        let line = text.split(separator: "\n").joined(separator: "; ")
        return line.hasSuffix(".") || line.hasSuffix("?") ? line : line + "."
    }
}
