import HTTP
import Policy
import YAML

/// A route and where the configuration says what.
struct PlacedRoute {
    var route: Route
    var mark: YAMLMark
    /// False where path or methods are missing or faulty: nothing is concluded from them.
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
        if let field = section.field("methods") { methods = self.methods(field) }
        let upstream = section.required("upstream").flatMap(upstreamIndex)
        var bodyByteCountMax = bodyByteCountMax
        section.set("body_max", &bodyByteCountMax) {
            $0.byteCount(LimitReader.bodyRange, LimitReader.bodyReason)
        }
        let upgradeField = section.field("upgrade")
        // Required: a forgotten key must not leave a route open.
        let attestField = section.required("attest")
        let attest = attestField.flatMap(AttestReader.policy)
        var route = Route(
            name: nameField.flatMap(name) ?? "", path: path ?? .exact("/"), methods: methods ?? [],
            upstream: upstream ?? 0, attest: attest?.policy ?? AttestPolicy(),
            bodyByteCountMax: bodyByteCountMax)
        let upgrades = upgradeField?.list { $0.choice([("websocket", true)]) }
        route.allowsWebSocket = upgrades?.isEmpty == false
        return PlacedRoute(
            route: route, mark: element.mark, isMatchable: path != nil && methods != nil,
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

    private func methods(_ field: Field) -> [String]? {
        let methods = field.list { field -> String? in
            guard let text = field.text() else { return nil }
            let isToken =
                text.value.utf8.count <= 32
                && text.value.utf8.allSatisfy { byte in
                    (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
                        || byte == 0x5F
                }
            guard isToken else {
                let upper = text.value.uppercased()
                let isCase = upper != text.value && upper.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
                field.error(
                    "\(text.shown) is not a method in upper case"
                        + (isCase ? ": did you mean \(quoted(upper))?" : ""))
                return nil
            }
            guard text.value != "CONNECT" else {
                field.error("CONNECT is not supported")
                return nil
            }
            return text.value
        }
        if let methods, methods.isEmpty {
            field.error("is empty: leave it out to take every method")
            return nil
        }
        return methods
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

/// Reads paths as the configuration writes them.
enum RoutePath {
    static func pattern(_ field: Field) -> PathPattern? {
        guard let text = field.text() else { return nil }
        let isPrefix = text.value.hasSuffix("/*")
        let path = isPrefix ? String(text.value.dropLast()) : text.value
        guard !path.contains("*") else {
            field.error(
                "\(text.shown) has a * elsewhere than in a final /*; write a literal one as %2A")
            return nil
        }
        guard let normal = normalForm(of: path, shown: text.shown, field) else { return nil }
        return isPrefix ? .prefix(normal) : .exact(normal)
    }

    /// The form in which requests are compared; nil, with a report, where there is none.
    static func normalForm(of path: String, shown: String, _ field: Field) -> String? {
        guard path.hasPrefix("/") else {
            field.error("\(shown) does not begin with a /")
            return nil
        }
        guard path.utf8.count <= 1024 else {
            field.error("\(shown) is longer than 1024 bytes")
            return nil
        }
        do throws(HTTPFault) {
            return String(
                decoding: try TargetPath.normalize(pattern: Array(path.utf8)), as: UTF8.self)
        } catch {
            field.error("\(shown) is not a path that a request can have: \(error.code)")
            return nil
        }
    }
}
