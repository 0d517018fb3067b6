import Policy
import YAML

/// A route and where the configuration says what.
struct PlacedRoute {
    var route: Route
    var mark: YAMLMark
    /// False where what it matches is missing or faulty: nothing is concluded from it.
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
            name: nameField.flatMap(name) ?? "", path: path ?? .exact("/"), methods: methods ?? [],
            upstream: nil, attest: AttestPolicy(), bodyByteCountMax: bodyByteCountMax)
        let upgrades = section.field("upgrade")?.list { $0.choice([("websocket", true)]) }
        route.allowsWebSocket = upgrades?.isEmpty == false
        route.hosts = hosts ?? []
        route.headers = headers ?? []
        RouteActionReader(upstreams: upstreams).read(&section, into: &route, path: path)
        RouteOverrideReader.read(&section, into: &route)
        // Required: a forgotten key must not leave a route open.
        let attest = section.required("attest").flatMap(AttestReader.policy)
        route.attest = attest?.policy ?? AttestPolicy()
        section.set("allow_weaker", &route.allowsWeaker) {
            $0.choice([("true", true), ("false", false)])
        }
        let isMatchable = path != nil && methods != nil && hosts != nil && headers != nil
        return PlacedRoute(
            route: route, mark: element.mark, isMatchable: isMatchable,
            nameMark: nameField?.mark ?? element.mark, pathMark: pathField?.mark ?? element.mark,
            modeMark: attest?.modeMark ?? element.mark, path: element.path)
    }

    private func name(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        guard Name.isValid(text.value) else {
            field.error("\(text.shown) \(Name.rule)")
            return nil
        }
        return text.value
    }
}
