import Policy
import YAML

/// A route and where the configuration says what.
struct PlacedRoute {
    var route: Route
    var mark: YAMLMark
    /// False where what it matches, or its mode, is missing or faulty: nothing is concluded from
    /// it.
    var isMatchable: Bool
    var nameMark: YAMLMark
    var pathMark: YAMLMark
    var modeMark: YAMLMark
    var path: String
}

/// Reads `routes`.
struct RouteReader {
    let upstreams: [UpstreamSettings]
    /// For routes that set none.
    let bodyByteCountMax: Int

    private static var upgrade: Kind<Bool> { .words([("websocket", true)]) }
    private static var bodyHandling: Kind<Bool> { .words([("hold", false), ("stream", true)]) }

    static var shape: Shape {
        let rest = [
            Entry(
                "rate_limit", Kind.rateLimits().shape, standard: "off",
                "One or more of rate_limits; by: key only if attest.mode is not off."),
            Entry(
                "request_body", bodyHandling.shape, standard: "hold",
                "hold: a body is complete before any of it goes on. stream: it goes on as it "
                    + "comes, with attest.mode off only."),
            Entry(
                "upgrade", .list(upgrade.shape),
                "Protocols that a GET without body may change to, once it is verified. Left out: "
                    + "none."),
            Entry(
                "allow_weaker", Kind.trueFalse.shape, standard: "false",
                "Whether requests may get around a stricter route to the same place of the "
                    + "upstream."),
            Entry(
                "attest", AttestReader.form.shape, required: true,
                "What is demanded; required, so that no route is open by accident."),
        ]
        return .list(
            .section(
                RouteMatchReader.entries + RouteActionReader.entries + RouteOverrideReader.entries
                    + rest))
    }

    func routes(_ field: Field) -> [PlacedRoute] {
        guard let elements = field.list() else { return [] }
        if elements.isEmpty { field.error("is empty: at least one route is needed") }
        return elements.compactMap { element in element.section { route(element, &$0) } }
    }

    private func route(_ element: Field, _ section: inout Section) -> PlacedRoute {
        let nameField = section.required("name")
        let pathField = section.required("path")
        let path = pathField.flatMap(RoutePath.pattern)
        var methods: [String]? = []
        if let field = section.field("methods") { methods = RouteMatchReader.methods(field) }
        var hosts: [HostPattern]? = []
        if let field = section.field("hosts") { hosts = RouteMatchReader.hosts(field) }
        var headers: [HeaderCondition]? = []
        if let field = section.field("headers") { headers = RouteMatchReader.headers(field) }
        var route = Route(
            name: nameField?.name() ?? "", path: path ?? .exact("/"), methods: methods ?? [],
            upstream: nil, attest: AttestPolicy(), bodyByteCountMax: bodyByteCountMax)
        let upgradeField = section.field("upgrade")
        let upgrades = upgradeField?.list(Self.upgrade.read)
        route.allowsWebSocket = upgrades?.isEmpty == false
        route.hosts = hosts ?? []
        route.headers = headers ?? []
        RouteActionReader(upstreams: upstreams).read(&section, into: &route, path: path)
        RouteOverrideReader.read(&section, into: &route)
        // Required: a forgotten key must not leave a route open.
        let attest = section.required("attest").flatMap(AttestReader.policy)
        route.attest = attest?.policy ?? AttestPolicy()
        route.rollout = attest?.rollout
        route.restrictions = attest?.restrictions ?? RouteRestrictions()
        readBodyHandling(&section, into: &route)
        checkUpgrade(upgradeField, of: route)
        section.set("allow_weaker", &route.allowsWeaker, Kind.trueFalse.read)
        section.set("rate_limit", &route.rateLimits) {
            $0.rateLimitNames(
                allowingKey: attest?.isModeKnown != true || attest?.policy.mode != .off)
        }
        let isMatchable =
            path != nil && methods != nil && hosts != nil && headers != nil
            && attest?.isModeKnown != false
        return PlacedRoute(
            route: route, mark: element.mark, isMatchable: isMatchable,
            nameMark: nameField?.mark ?? element.mark, pathMark: pathField?.mark ?? element.mark,
            modeMark: attest?.modeMark ?? element.mark, path: element.path)
    }

    private func readBodyHandling(_ section: inout Section, into route: inout Route) {
        guard let field = section.field("request_body") else { return }
        route.streamsBody = Self.bodyHandling.read(field) ?? false
        guard route.streamsBody else { return }
        if route.answer != nil {
            field.error("is used with upstream only", at: field.keyMark)
        } else if route.attest.mode != .off {
            field.error(
                "stream needs attest.mode off: with \(route.attest.mode) no byte of a body goes on "
                    + "before all of it is verified")
        }
    }

    private func checkUpgrade(_ field: Field?, of route: Route) {
        guard let field, route.allowsWebSocket, let index = route.upstream,
            upstreams.indices.contains(index), upstreams[index].protocol == .http2
        else { return }
        field.error(
            "needs an upstream with protocol http/1.1: \(quoted(upstreams[index].name)) has h2, "
                + "where nothing is upgraded")
    }
}
