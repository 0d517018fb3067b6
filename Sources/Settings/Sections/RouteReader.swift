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
    let upstreamNames: [String]
    /// For routes that set no `body_max`.
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
        let upstream = section.required("upstream").flatMap(upstreamIndex)
        var bodyByteCountMax = bodyByteCountMax
        section.set("body_max", &bodyByteCountMax) {
            $0.byteCount(LimitReader.bodyRange, LimitReader.bodyReason)
        }
        // Required: a forgotten key must not leave a route open.
        let attestField = section.required("attest")
        let attest = attestField.flatMap(AttestReader.policy)
        var route = Route(
            name: nameField.flatMap(name) ?? "", path: path ?? .exact("/"), methods: methods ?? [],
            upstream: upstream, attest: attest?.policy ?? AttestPolicy(),
            bodyByteCountMax: bodyByteCountMax)
        route.hosts = hosts ?? []
        route.headers = headers ?? []
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

    private func upstreamIndex(_ field: Field) -> Int? {
        guard let text = field.text() else { return nil }
        // Without any upstream that fault is the one to report.
        guard !upstreamNames.isEmpty else { return nil }
        guard let index = upstreamNames.firstIndex(of: text.value) else {
            let ending = Suggestion.ending(for: text.value, among: upstreamNames, listing: true)
            field.error("no upstream is named \(text.shown)\(ending)")
            return nil
        }
        return index
    }
}
