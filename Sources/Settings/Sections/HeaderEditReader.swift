import HTTP
import Policy
import YAML

/// Reads `request_headers` and `response_headers` of a route.
struct HeaderEditReader {
    static let request = HeaderEditReader(isRequest: true)
    static let response = HeaderEditReader(isRequest: false)

    private static let variables: [TextVariable] = [.clientAddress, .requestID, .host, .keyID]
    private let isRequest: Bool

    static var shape: Shape {
        let lines = Shape.named("HEADER", .text("text with {variables}"))
        return .section([
            Entry("remove", .list(.header), "Headers to remove."),
            Entry(
                "set", lines,
                "Headers in place of what was sent, in every spelling. Values may hold "
                    + "{client_address}, {request_id}, {host} and {key_id}; {{ is a {."),
            Entry("add", lines, "Headers beside what was sent."),
        ])
    }

    func edits(_ field: Field) -> HeaderEdits? {
        field.section { section in
            var edits = HeaderEdits()
            var taken: Set<String> = []
            if let field = section.field("remove") {
                let names = field.list { element in
                    element.text().flatMap { text in
                        isFree(text.value, element, at: element.mark, &taken)
                            ? text.value.lowercased() : nil
                    }
                }
                edits.remove = names ?? []
            }
            edits.set = section.field("set").map { lines($0, &taken) } ?? []
            edits.add = section.field("add").map { lines($0, &taken) } ?? []
            return edits
        }
    }

    private func lines(_ field: Field, _ taken: inout Set<String>) -> [HeaderLine] {
        (field.namedFields() ?? []).compactMap { field in
            guard isFree(field.key, field, at: field.keyMark, &taken), let text = field.text(),
                let value = field.template(text, Self.variables)
            else { return nil }
            guard HeaderReader.isValue(text.value) else {
                field.error("\(text.shown) \(HeaderReader.valueRule)")
                return nil
            }
            return HeaderLine(name: field.key, value: value, isSecret: text.isSubstituted)
        }
    }

    /// Whether a route may touch the header, and has not named it before.
    private func isFree(
        _ name: String, _ field: Field, at mark: YAMLMark, _ taken: inout Set<String>
    ) -> Bool {
        guard HeaderReader.isName(name) else {
            field.error("\(quoted(name)) is not a header name (RFC 9110 section 5.1)", at: mark)
            return false
        }
        // Names that differ in other signs only are one to servers that make variables of them.
        let folded = HeaderReader.fold(name)
        let unfolded = Array(folded.utf8)
        if let reason = reason(against: KnownField(name: unfolded.span), folded) {
            field.error("\(quoted(name)) \(reason)", at: mark)
            return false
        }
        guard taken.insert(folded).inserted else {
            field.error("\(quoted(name)) is named twice", at: mark)
            return false
        }
        return true
    }

    /// Whether a header of this name is the application's own affair.
    func allows(_ folded: String) -> Bool {
        let name = Array(folded.utf8)
        return reason(against: KnownField(name: name.span), folded) == nil
    }

    private func reason(against known: KnownField, _ folded: String) -> String? {
        if folded.hasPrefix("x-attest-") || folded.hasPrefix("x-app-attest-") {
            return "is the gateway's own word"
        }
        if known.isHopByHop || [.contentLength, .expect].contains(known) {
            return "is about the connection, not for a route to change"
        }
        if known == .host {
            return isRequest ? "is what upstream_host is for" : "is no such header"
        }
        guard isRequest else { return known == .date ? "is written by whoever answers" : nil }
        switch known {
        case .forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto, .xRequestID:
            return "is written by the gateway, for every route"
        case .xHTTPMethod, .xHTTPMethodOverride, .xMethodOverride, .xOriginalURL, .xRewriteURL:
            return "asks upstreams for another method or path than the one that was matched"
        default: return nil
        }
    }
}

extension Field {
    /// A text with variables, whose faults are reported.
    func template(_ text: SettingText, _ variables: [TextVariable]) -> TextTemplate? {
        do throws(TextTemplate.Fault) {
            return try TextTemplate(text.value, variables: variables)
        } catch {
            switch error {
            case .unclosed: self.error("\(text.shown) has a { without }; write a literal one as {{")
            case .unknown:
                let names = variables.map { "{\($0.rawValue)}" }.joined(separator: ", ")
                self.error("\(text.shown) has a variable that is not one of \(names)")
            }
            return nil
        }
    }
}
