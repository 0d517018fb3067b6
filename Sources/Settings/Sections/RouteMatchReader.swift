import HTTP
import Policy

/// Declares which requests a route takes.
enum RouteMatchReader {
    @FormBuilder<Route>
    static var settings: [Setting<Route>] {
        Setting(
            "name", \.name, .name, required: true,
            "The route's name in the log and in metrics.")
        Setting(
            "path", \.path, RoutePath.kind, required: true,
            "A path, or everything below it with a final /*. Guard whole prefixes and open single "
                + "paths; see upstreams.NAME.paths.")
        Setting(
            "hosts", \.hosts,
            Kind<[HostPattern]>.list(host, empty: "is empty: leave it out to take every host")
                .unlessEmpty,
            "Hosts without a port. *.domain: everything below it. If left out: every host.")
        Setting(
            "methods", \.methods,
            Kind<[String]>.list(method, empty: "is empty: leave it out to take every method")
                .unlessEmpty,
            "GET includes HEAD. If left out: every method.")
        Setting(
            "headers", \.headers, headers,
            "Headers that a request must have: a value, present, or absent. { equals: present } "
                + "means the value present.")
    }

    private static var method: Kind<String> {
        Kind(.text("method in upper case"), text: \.self) { text throws(Fault) in
            let isToken =
                text.utf8.count <= 32
                && text.utf8.allSatisfy { $0.isUppercase || $0.isDigit || $0.isOne(of: "-_") }
            guard isToken else {
                let upper = text.uppercased()
                let isCase = upper != text && upper.isVisible
                throw Fault(
                    "is not a method in upper case"
                        + (isCase ? ": did you mean \(quoted(upper))?" : ""))
            }
            if ["CONNECT", "TRACE"].contains(text) { throw Fault("is not supported") }
            return text
        }
    }

    static var host: Kind<HostPattern> {
        Kind(.text("name, address or *.domain"), text: \.description) { text throws(Fault) in
            do throws(HostPattern.Fault) { return try HostPattern(text) } catch {
                throw Fault(message(error, text))
            }
        }
    }

    private static func message(_ fault: HostPattern.Fault, _ text: String) -> String {
        switch fault {
        case .empty: "is empty"
        case .hasPort: "has a port, which makes no difference: leave it out"
        case .isURL: "is not a host: leave out everything but the name"
        case .notASCII: "is not ASCII: write it as browsers send it, xn--..."
        case .badLabel: "is not a host: labels are 1 to 63 letters, digits, hyphens, underscores"
        case .badAddress: "is not an IPv6 address in brackets"
        case .bareAddress: "is an IPv6 address without brackets: write \"[\(text)]\""
        case .badWildcard: "has a * other than in a leading *."
        case .tooLong: "is longer than 253 bytes"
        }
    }

    private static var headers: Kind<[HeaderCondition]> {
        Kind(.named("HEADER", test.shape), read: headers) { conditions in
            conditions.isEmpty
                ? .absent : .mapping(conditions.map { YAMLPair($0.name, test.yaml($0.test)) })
        }
    }

    private static func headers(_ field: Field) -> [HeaderCondition]? {
        guard let fields = field.namedFields("HEADER", of: test.shape) else { return nil }
        if fields.isEmpty {
            field.error("is empty: leave it out to take every request")
            return nil
        }
        var names: Set<String> = []
        let conditions = fields.compactMap { field -> HeaderCondition? in
            guard let name = headerName(field), let test = test.read(field) else { return nil }
            guard names.insert(name).inserted else {
                field.error("named twice, in another case", at: field.keyMark)
                return nil
            }
            return HeaderCondition(name: name, test: test)
        }
        guard conditions.count == fields.count else { return nil }
        return conditions.sorted { $0.name < $1.name }
    }

    /// The header that a key names; nil, with a report, if a route may not match it.
    private static func headerName(_ field: Field) -> String? {
        let name = field.key.lowercased()
        guard HeaderReader.isName(name) else {
            field.error(
                "\(quoted(field.key)) \(HeaderReader.nameRule)", at: field.keyMark)
            return nil
        }
        let bytes = Array(name.utf8)
        let known = KnownField(name: bytes.span)
        if known == .host {
            field.error("is what hosts is for", at: field.keyMark)
            return nil
        }
        guard !known.isHopByHop, known != .contentLength, known != .expect else {
            field.error("is about the connection, and no route can ask for it", at: field.keyMark)
            return nil
        }
        guard !name.hasPrefix("x-attest-"), !name.hasPrefix("x-app-attest-") else {
            field.error("is removed from every request: no route can ask for it", at: field.keyMark)
            return nil
        }
        return name
    }

    private static var test: Kind<HeaderCondition.Test> {
        func equals(_ value: Kind<String>) -> Kind<HeaderCondition.Test> {
            value.map(
                { .equals($0) }, from: { if case .equals(let text) = $0 { text } else { nil } })
        }
        let words = ["present", "absent"]
        let value = Kind<String>.headerValue("value").printed { !words.contains($0) }
        return .words([("present", .present), ("absent", .absent)], or: equals(value))
            .or(equals(.section("equals", .headerValue("text"), "The value.")))
    }
}
