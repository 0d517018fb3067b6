import AppAttest
import GatewayTokens
import HTTP
import Policy
import YAML

/// What must hold between parts of the configuration that are each in order.
struct CrossChecks {
    let settings: Settings
    let listeners: [PlacedListener]
    let admin: PlacedAdmin?
    let upstreams: [PlacedUpstream]
    let routes: [PlacedRoute]
    let context: ReadingContext

    func run(hasApps: Bool, routeField: Field?, registryField: Field?) {
        checkBinds()
        checkRouteNames()
        checkRolloutNames()
        RouteChecks(routes: routes, upstreams: settings.upstreams, context: context).run()
        checkEndpoints()
        checkTokens()
        checkIdentity()
        checkDeviceCheck()
        checkApps(hasApps: hasApps)
        if let registryField { checkShared(registryField) }
        warn(routeField)
    }

    /// What cannot be kept beside a registry that is not a file.
    private func checkShared(_ field: Field) {
        guard case .postgres = settings.registry else { return }
        if settings.signals.user != nil, settings.secrets.pseudonymKeyFile == nil {
            field.error(
                "with PostgreSQL and signals.user secrets.pseudonym_key_file is needed: users are "
                    + "kept by names made with it, which must outlast the challenge keys")
        }
        if settings.secrets.challengeKeyFile == nil {
            field.error(
                "with PostgreSQL secrets.challenge_key_file is needed: every gateway opens what "
                    + "another one sealed")
        }
        if case .embedded = settings.counters {
            field.warning(
                "counters are embedded, which is for one gateway only: each start asks every app "
                    + "to sign once more")
        }
    }

    private func checkBinds() {
        var taken: [(bind: Endpoint, place: String)] = []
        var binds = listeners.map { (bind: $0.settings.bind, mark: $0.bindMark) }
        if let admin { binds.append((admin.settings.bind, admin.bindMark)) }
        for (bind, mark) in binds {
            // Port 0 is another port each time.
            if case .tcp(_, port: 0) = bind { continue }
            if let other = taken.first(where: { $0.bind == bind }) {
                context.error("\(bind) is bound at \(other.place) already", at: mark)
            } else {
                taken.append((bind, "\(mark.line):\(mark.column)"))
            }
        }
    }

    private func checkRouteNames() {
        for (index, route) in routes.enumerated() where !route.route.name.isEmpty {
            let name = route.route.name
            if let other = routes[..<index].first(where: { $0.route.name == name }) {
                context.error(
                    "\(route.path).name: \(quoted(name)) is the name of the route at "
                        + "\(place(other.nameMark)) already", at: route.nameMark)
            }
        }
    }

    /// Operators name both alike.
    private func checkRolloutNames() {
        let name = EndpointSettings.attestRolloutName
        for route in routes where route.route.name == name && route.route.rollout != nil {
            context.error(
                "\(route.path).name: \(quoted(name)) is how `sallyport rollout` names who may "
                    + "attest", at: route.nameMark)
        }
    }

    private func checkEndpoints() {
        let paths = settings.ownEndpoints.map { settings.endpoints.base + $0 }
        for route in routes where route.isMatchable {
            guard case .exact(let path) = route.route.path else { continue }
            let trimmed =
                path.utf8.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
            if paths.contains(trimmed) {
                context.error(
                    "\(route.path).path: never matches: the gateway answers \(trimmed) itself "
                        + "(endpoints.base moves its paths)", at: route.pathMark)
            }
        }
    }

    /// All routes that take tokens are named in each.
    private func checkTokens() {
        let accepting = routes.filter { $0.route.attest.accept.contains(.token) }
        guard accepting.count > SessionTokenSealer.audienceCountMax,
            let first = accepting.dropFirst(SessionTokenSealer.audienceCountMax).first
        else { return }
        context.error(
            "\(first.path).attest.accept: more than \(SessionTokenSealer.audienceCountMax) routes "
                + "take session tokens, and each token would name them all", at: first.modeMark)
    }

    private func checkIdentity() {
        // A list of keys whose entries are all faulty has been reported.
        guard settings.identity.keys.isEmpty, context.errors.isEmpty else { return }
        for upstream in upstreams where upstream.settings.identity != nil {
            context.error(
                "upstreams.\(upstream.settings.name).identity: needs identity: { keys: [...] }, by "
                    + "which it is signed", at: upstream.mark)
        }
    }

    private func checkDeviceCheck() {
        for route in routes { checkTeam(of: route) }
        // A section that is faulty has been reported.
        guard settings.deviceCheck == nil, context.errors.isEmpty,
            let route = routes.first(where: { $0.route.attest.accept.contains(.deviceCheck) })
        else { return }
        context.error(
            "\(route.path).attest.accept: device_check needs the sections apple and device_check: "
                + "nobody could be asked", at: route.modeMark)
    }

    /// A token of DeviceCheck names a team, not an app.
    private func checkTeam(of route: PlacedRoute) {
        guard route.route.attest.accept.contains(.deviceCheck),
            let only = route.route.restrictions.apps.only, let deviceCheck = settings.deviceCheck,
            !settings.takesDevices(of: deviceCheck.teamID, for: only)
        else { return }
        context.error(
            "\(route.path).attest.apps: with accept: device_check must name every app of team "
                + "\(deviceCheck.teamID) (or any): such a token does not say which of them made it",
            at: route.modeMark)
    }

    private func checkApps(hasApps: Bool) {
        guard settings.apps.isEmpty,
            let route = routes.first(where: { $0.route.attest.mode != .off })
        else { return }
        // An `apps` whose entries are all faulty has been reported.
        if hasApps, !context.errors.isEmpty { return }
        context.error(
            "\(route.path).attest.mode: \(route.route.attest.mode) needs an entry in apps: no key "
                + "could be enrolled", at: route.modeMark)
    }

    private func warn(_ routeField: Field?) {
        if let routeField, !routes.isEmpty, routes.allSatisfy({ $0.route.attest.mode == .off }) {
            routeField.warning("every route has attest mode off: nothing is protected")
        }
        let attesting = settings.endpoints.attestRollout.percent
        for route in routes where route.route.attest.refuses(moreThan: attesting) {
            context.warning(
                "\(route.path).attest.mode: enforce refuses more than endpoints.attest_rollout "
                    + "lets attest: the others have nothing to prove themselves by",
                at: route.modeMark)
        }
        let used = Set(routes.compactMap(\.route.upstream))
        for (index, upstream) in upstreams.enumerated() where !used.contains(index) {
            context.warning(
                "upstreams.\(upstream.settings.name): no route uses it", at: upstream.mark)
        }
    }

    private func place(_ mark: YAMLMark) -> String { "\(mark.line):\(mark.column)" }
}

extension AttestPolicy {
    /// Whether a larger share than this is refused where it proves nothing.
    fileprivate func refuses(moreThan percent: Int) -> Bool {
        mode == .enforce && onMissing == .deny && rolloutPercent > percent
    }
}

extension Settings {
    /// Whether all of the team's apps, one of them at least, are among `ids`.
    public func takesDevices(of teamID: String, for ids: Set<String>) -> Bool {
        let team = Set(apps.filter { $0.teamID == teamID }.map(\.id))
        return !team.isEmpty && team.isSubset(of: ids)
    }

    /// What the gateway answers itself, below ``EndpointSettings/base``.
    public var ownEndpoints: [String] {
        var names = ["attest/challenge", "attest/verify", "assert/challenge"]
        if routes.contains(where: { $0.attest.accept.contains(.token) }) {
            names.append("assert/token")
        }
        if !identity.keys.isEmpty { names.append("identity/jwks.json") }
        return names
    }
}
