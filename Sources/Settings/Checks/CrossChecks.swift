import AppAttest
import Attestation
import GatewayTokens
import HTTP
import Policy

/// Checks conditions between parts of the configuration, each of which has no fault of its own.
struct CrossChecks {
    let settings: Settings
    let context: ReadingContext

    private var routes: [(path: String, route: Route)] {
        settings.routes.enumerated().map { ("routes[\($0)]", $1) }
    }

    func run() {
        checkBinds()
        checkRouteNames()
        let routeChecks = RouteChecks(
            routes: settings.routes, upstreams: settings.upstreams, context: context)
        routeChecks.run()
        checkEndpoints(routeChecks.matchable)
        checkTokens()
        checkIdentity()
        checkDeviceCheck()
        checkApps()
        checkShared()
        QuotaChecks(settings: settings, context: context).run()
        warn()
    }

    /// Reports secrets that need files of their own, because PostgreSQL keeps the registry.
    private func checkShared() {
        guard case .postgres = settings.registry else { return }
        if settings.signals.user != nil, settings.secrets.pseudonymKeyFile == nil {
            context.error(
                "with PostgreSQL and signals.user, secrets.pseudonym_key_file is needed: it "
                    + "makes the names that users are kept by, and these must outlast the "
                    + "challenge keys", at: "registry")
        }
        if settings.secrets.challengeKeyFile == nil {
            context.error(
                "with PostgreSQL, secrets.challenge_key_file is needed: every gateway opens what "
                    + "another one sealed", at: "registry")
        }
        if case .embedded = settings.counters {
            context.warning(
                "counters are embedded, which is for one gateway only: each start asks every app "
                    + "to sign once more", at: "registry")
        }
    }

    private func checkBinds() {
        var binds = settings.listeners.enumerated().map { ("listeners[\($0)].bind", $1.bind) }
        if let admin = settings.admin { binds.append(("admin.bind", admin.bind)) }
        if let probes = settings.admin?.probes {
            binds.append(("admin.probes.bind", probes.bind))
        }
        if let api = settings.admin?.api { binds.append(("admin.api.bind", api.bind)) }
        var taken: [Endpoint: String] = [:]
        for (path, bind) in binds where !context.isFaulty(path) {
            // Port 0 is another port each time.
            if case .tcp(_, port: 0) = bind { continue }
            if let other = taken[bind] {
                context.error("\(bind) is bound at \(other) already", at: context.mark(path))
            } else {
                taken[bind] = context.place(path)
            }
        }
    }

    private func checkRouteNames() {
        var taken: [String: String] = [:]
        for (path, route) in routes where !route.name.isEmpty {
            if let other = taken[route.name] {
                context.error(
                    "\(quoted(route.name)) is the name of the route at \(other) already",
                    at: "\(path).name")
            } else {
                taken[route.name] = context.place("\(path).name")
            }
            // Operators name both alike.
            if route.name == EndpointSettings.attestRolloutName, route.rollout != nil {
                context.error(
                    "\(quoted(route.name)) is how `sallyport rollout` names who may attest",
                    at: "\(path).name")
            }
        }
    }

    private func checkEndpoints(_ matchable: [Int]) {
        let paths = settings.ownEndpoints.map(\.path)
        for index in matchable {
            guard case .exact(let path) = settings.routes[index].path else { continue }
            let trimmed =
                path.utf8.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
            if paths.contains(trimmed) {
                context.error(
                    "never matches: the gateway answers \(trimmed) itself"
                        + (trimmed == Settings.discoveryPath
                            ? "" : " (endpoints.base moves its paths)"),
                    at: "routes[\(index)].path")
            }
        }
    }

    /// Reports too many routes that take session tokens: each token names all of them.
    private func checkTokens() {
        let accepting = routes.filter { $0.route.attest.accept.contains(.token) }
        let countMax = SessionTokenSealer.audienceCountMax
        guard let first = accepting.dropFirst(countMax).first else { return }
        error(
            "more than \(countMax) routes take session tokens, and each token would name them all",
            in: first.path, "accept")
    }

    private func checkIdentity() {
        // A list of keys whose entries are all faulty has been reported.
        guard settings.identity.keys.isEmpty, context.errors.isEmpty else { return }
        for upstream in settings.upstreams where upstream.identity != nil {
            let path = "upstreams.\(upstream.name)"
            context.error(
                "\(path).identity: needs identity: { keys: [...] }, by which it is signed",
                at: context.mark(path))
        }
    }

    private func checkDeviceCheck() {
        for (path, route) in routes { checkTeam(of: route, path) }
        // A section that is faulty has been reported.
        guard settings.deviceCheck == nil, context.errors.isEmpty,
            let first = routes.first(where: { $0.route.attest.accept.contains(.deviceCheck) })
        else { return }
        error(
            "device_check needs the sections apple and device_check, without which Apple cannot "
                + "be asked", in: first.path, "accept")
    }

    /// Reports a route whose apps a DeviceCheck token cannot prove, because it names only a team.
    private func checkTeam(of route: Route, _ path: String) {
        guard route.attest.accept.contains(.deviceCheck),
            let only = route.attest.apps.only, let deviceCheck = settings.deviceCheck,
            !settings.takesDevices(of: deviceCheck.teamID, for: only)
        else { return }
        error(
            "with accept: device_check must name every app of team \(deviceCheck.teamID) (or "
                + "any): such a token does not say which of them made it", in: path, "apps")
    }

    private func checkApps() {
        guard settings.apps.isEmpty,
            let first = routes.first(where: { $0.route.attest.mode != .off })
        else { return }
        // An `apps` whose entries are all faulty has been reported.
        if context.has("apps"), !context.errors.isEmpty { return }
        error(
            "\(first.route.attest.mode) needs an entry in apps: no key could be enrolled",
            in: first.path, "mode")
    }

    private func warn() {
        if !routes.isEmpty, routes.allSatisfy({ $0.route.attest.mode == .off }) {
            context.warning("every route has attest mode off: nothing is protected", at: "routes")
        }
        let attesting = settings.endpoints.attestRollout.percent
        for (path, route) in routes where route.attest.refuses(moreThan: attesting) {
            context.warning(
                "enforce refuses more than endpoints.attest_rollout lets attest: the others could "
                    + "prove nothing", at: "\(path).attest.mode")
        }
        warnOfHiddenBodies()
        warnOfHiddenUsers()
        warnOfOpenCredentials()
        warnOfUncountedKeys()
        let used = Set(settings.routes.compactMap(\.upstream))
        for (index, upstream) in settings.upstreams.enumerated() where !used.contains(index) {
            context.warning("no route uses it", at: "upstreams.\(upstream.name)")
        }
        let accepted = Set(settings.routes.flatMap { $0.attest.proofs.map(\.index) })
        for (index, proof) in settings.proofs.enumerated() where !accepted.contains(index) {
            context.warning(
                "no route accepts it, so its tokens are ignored: write proof:\(proof.name) in a "
                    + "route's attest.accept", at: "proofs.\(proof.name)")
        }
    }

    /// Warns of routes whose assertions cover a body that a check listener is never shown.
    private func warnOfHiddenBodies() {
        let asking = settings.listeners.compactMap { listener in
            listener.check.map { (bind: listener.bind, dialect: $0.dialect) }
        }
        for (path, route) in routes where !route.bodyRules.isEmpty {
            guard let (bind, dialect) = asking.first(where: { $0.dialect.showsNoBodies }) else {
                continue
            }
            context.warning(
                "no request passes at \(bind): a proxy that asks as \(dialect.rawValue) shows no "
                    + "body", at: "\(path).body_rules")
        }
        for (path, route) in routes where route.needsBodies {
            guard let (bind, dialect) = asking.first(where: { $0.dialect.hidesBodies(of: route) })
            else { continue }
            context.warning(
                "no request with a body can pass by an assertion at \(bind), nor one without a "
                    + "body that is no GET, HEAD or OPTIONS and has no Content-Length: 0: a proxy "
                    + "that asks as \(dialect.rawValue) shows no body. With client_data: header "
                    + "and body: claimed the upstream compares it", at: "\(path).attest.mode")
        }
    }

    /// The settings by which requests without a valid proof pass a route that enforces.
    private func openings(of route: Route) -> [String] {
        let policy = route.attest
        guard policy.mode == .enforce else { return [] }
        return [
            ("on_missing", policy.onMissing != .deny), ("on_invalid", policy.onInvalid != .deny),
            ("on_lower_tier", policy.onLowerTier != .deny),
            ("on_store_failure", policy.onStoreFailure.action != .deny),
            ("rollout", policy.rolloutPercent < 100 || route.rollout != nil),
        ].filter(\.1).map(\.0)
    }

    /// Warns of keys in request headers that strangers can use, or read on their way.
    private func warnOfOpenCredentials() {
        for (path, route) in routes where !route.requestHeaders.files.isEmpty {
            if route.attest.mode != .enforce, !context.isFaulty("\(path).attest.mode") {
                context.warning(
                    "\(route.attest.mode) lets any client use the key that request_headers adds: "
                        + "write enforce", at: "\(path).attest.mode")
            } else {
                for name in openings(of: route) {
                    context.warning(
                        "lets clients without a proof use the key that request_headers adds",
                        at: "\(path).attest.\(name)")
                }
            }
            guard let index = route.upstream, settings.upstreams[index].tls == nil,
                let server = settings.upstreams[index].servers.first(where: { !$0.endpoint.isLocal }
                )
            else { continue }
            context.warning(
                "a key goes to \(server.endpoint) without TLS: set upstreams."
                    + "\(settings.upstreams[index].name).tls", at: "\(path).request_headers")
        }
    }

    /// Warns of check listeners if only the upstream's responses name the user.
    private func warnOfHiddenUsers() {
        guard settings.signals.user?.source == .response,
            let listener = settings.listeners.first(where: { $0.check != nil })
        else { return }
        context.warning(
            "no user is known of requests that a proxy asks about at \(listener.bind): their "
                + "responses do not come here. With from: proxy it names the user in its question",
            at: "signals.user")
    }

    /// Warns of routes without challenges, which take no key that does not count its signatures.
    private func warnOfUncountedKeys() {
        for (path, route) in routes
        where route.attest.mode != .off && route.attest.challenge == .off
            && route.attest.accept.contains(.assertion)
        {
            let app = settings.apps.first { app in
                app.platform != .apple && route.attest.apps.only?.contains(app.id) != false
            }
            guard let app else { continue }
            context.warning(
                "takes no key of \(app.id): the keys of its platform do not count, so only a "
                    + "challenge stops a replay", at: "\(path).attest.challenge")
        }
    }

    /// Reports what is wrong with a key of `attest`, at the mode of the route.
    private func error(_ message: String, in route: String, _ key: String) {
        context.error(
            "\(route).attest.\(key): \(message)", at: context.mark("\(route).attest.mode"))
    }
}

extension RoutePolicy {
    /// True if a larger share than this of the requests without a proof is refused.
    fileprivate func refuses(moreThan percent: Int) -> Bool {
        mode == .enforce && onMissing == .deny && rolloutPercent > percent
    }
}

extension CheckDialect {
    /// True if the proxy's calls never have a body.
    fileprivate var showsNoBodies: Bool {
        switch self {
        case .nginx, .forward, .json: true
        case .envoy, .envoyGRPC: false
        }
    }

    /// True if the proxy's calls never have the part of a body that the route's assertions cover.
    fileprivate func hidesBodies(of route: Route) -> Bool {
        switch self {
        case .nginx, .forward: true
        // A digest has no challenge in it.
        case .json: route.attest.clientData == .body
        case .envoy, .envoyGRPC: false
        }
    }
}

extension Route {
    /// True if the route takes requests with bodies, and assertions only if it has seen the body.
    fileprivate var needsBodies: Bool {
        let isBodiless =
            !methods.isEmpty && methods.allSatisfy { ["GET", "HEAD", "OPTIONS"].contains($0) }
        return attest.mode != .off && attest.accept.contains(.assertion)
            && attest.body == .required && !isBodiless
    }
}

extension Settings {
    /// True if the team has apps, and all of them are among `ids`.
    public func takesDevices(of teamID: String, for ids: Set<String>) -> Bool {
        let team = Set(apps.filter { $0.teamID == teamID }.map(\.id))
        return !team.isEmpty && team.isSubset(of: ids)
    }
}
