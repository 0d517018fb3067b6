import Bytes
import HTTP
import Policy

/// Reads which requests a route takes, its path apart.
enum RouteMatchReader {
    static var entries: [Entry] {
        let value = Entry("equals", .text("text"), required: true, "The value itself.")
        return [
            Entry("name", Name.shape, required: true, "The name in the log and in metrics."),
            Entry(
                "path", RoutePath.shape, required: true,
                "The path; with a final /* everything below it. Compared in normal form."),
            Entry(
                "methods", .list(.text("method in upper case")),
                "Methods. GET includes HEAD. Left out: every method."),
            Entry(
                "hosts", .list(.text("name, address or *.domain")),
                "Hosts, without port. Left out: every host."),
            Entry(
                "headers",
                .named(
                    "HEADER",
                    .either([
                        .words(["present", "absent"]), .text("value"), .section([value]),
                    ])), "Headers that the route asks for, all of them."),
        ]
    }

    static func methods(_ field: Field) -> [String]? {
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
            guard text.value != "CONNECT", text.value != "TRACE" else {
                field.error("\(text.value) is not supported")
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

    static func hosts(_ field: Field) -> [HostPattern]? {
        let hosts = field.list { field -> HostPattern? in
            guard let text = field.text() else { return nil }
            do throws(HostPattern.Fault) { return try HostPattern(text.value) } catch {
                field.error("\(text.shown) \(message(error))")
                return nil
            }
        }
        if let hosts, hosts.isEmpty {
            field.error("is empty: leave it out to take every host")
            return nil
        }
        return hosts
    }

    private static func message(_ fault: HostPattern.Fault) -> String {
        switch fault {
        case .empty: "is empty"
        case .hasPort: "has a port, which makes no difference: leave it out"
        case .isURL: "is not a host: leave out everything but the name"
        case .notASCII: "is not ASCII: write it as browsers send it, xn--..."
        case .badLabel: "is not a host: labels are 1 to 63 letters, digits, hyphens, underscores"
        case .badAddress: "is not an IPv6 address in brackets"
        case .badWildcard: "has a * elsewhere than in a leading *."
        case .tooLong: "is longer than 253 bytes"
        }
    }

    static func headers(_ field: Field) -> [HeaderCondition]? {
        guard let fields = field.namedFields() else { return nil }
        if fields.isEmpty {
            field.error("is empty: leave it out to take every request")
            return nil
        }
        var names: Set<String> = []
        let conditions = fields.compactMap { field -> HeaderCondition? in
            guard let name = headerName(field), let test = test(field) else { return nil }
            guard names.insert(name).inserted else {
                field.error("named twice, in another case", at: field.keyMark)
                return nil
            }
            return HeaderCondition(name: name, test: test)
        }
        guard conditions.count == fields.count else { return nil }
        return conditions.sorted { $0.name < $1.name }
    }

    /// The header that a key names, where a route may ask for it.
    private static func headerName(_ field: Field) -> String? {
        let name = field.key.lowercased()
        guard HeaderReader.isName(name) else {
            field.error(
                "\(quoted(field.key)) is not a header name (RFC 9110 section 5.1)",
                at: field.keyMark)
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

    private static func test(_ field: Field) -> HeaderCondition.Test? {
        guard !field.isMapping else {
            let text: String?? = field.section { $0.required("equals").flatMap(value) }
            return (text ?? nil).map(HeaderCondition.Test.equals)
        }
        guard let text = value(field) else { return nil }
        return switch text {
        case "present": .present
        case "absent": .absent
        default: .equals(text)
        }
    }

    private static func value(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        guard HeaderReader.isValue(text.value) else {
            field.error("\(text.shown) \(HeaderReader.valueRule)")
            return nil
        }
        return text.value
    }
}
