import HTTP
import Policy
import YAML

/// Declares `request_headers` and `response_headers` of a route.
struct HeaderEditReader {
    static let request = HeaderEditReader(isRequest: true)
    static let response = HeaderEditReader(isRequest: false)

    private static let variables: [TextVariable] = [.clientAddress, .requestID, .host, .keyID]
    private let isRequest: Bool

    var kind: Kind<HeaderEdits> {
        Kind(edits.shape) {
            edits.read($0)
        } yaml: {
            $0.isEmpty ? .absent : edits.yaml($0)
        }
    }

    /// The kind for one section, in which no header is named twice.
    private var edits: Kind<HeaderEdits> {
        // Folded names of headers that the section has named.
        var taken: Set<String> = []
        let name = Kind.text(.header) { field in
            guard let text = field.text(),
                isFree(text.value, field, at: field.mark, &taken)
            else { return nil }
            return text.value.lowercased()
        }
        let lines = Kind<[HeaderLine]>(.named("HEADER", .text("text with {variables}"))) { field in
            field.namedFields("HEADER", of: .text("…"))?.compactMap { line($0, &taken) }
        } yaml: { lines in
            .mapping(
                lines.map { line in
                    let text = line.isSecret ? SettingsPrinter.passwordMask : line.value.description
                    return YAMLPair(line.name, .text(text))
                })
        }
        let form = Form(HeaderEdits()) {
            Setting("remove", \.remove, .list(name).unlessEmpty, "Headers to remove.")
            Setting(
                "set", \.set, lines.unlessEmpty,
                "Headers that replace those sent. Values may hold {client_address}, {request_id}, "
                    + "{host} and {key_id} (of a verified request); {{ stands for {.")
            Setting(
                "add", \.add, lines.unlessEmpty,
                "Headers added beside those sent. Values are as in set.")
        }
        return .section(form)
    }

    private func line(_ field: Field, _ taken: inout Set<String>) -> HeaderLine? {
        guard isFree(field.key, field, at: field.keyMark, &taken), let text = field.text(),
            let value = field.parse({ text throws(Fault) in
                let template = try Self.template(text, Self.variables)
                guard HeaderReader.isValue(text) else { throw Fault(HeaderReader.valueRule) }
                return template
            })
        else { return nil }
        return HeaderLine(name: field.key, value: value, isSecret: text.isSubstituted)
    }

    /// True if a route may change the header, and has not named it before.
    private func isFree(
        _ name: String, _ field: Field, at mark: YAMLMark, _ taken: inout Set<String>
    ) -> Bool {
        guard HeaderReader.isName(name) else {
            field.error("\(quoted(name)) \(HeaderReader.nameRule)", at: mark)
            return false
        }
        // Servers that make variables of names do not tell apart those that differ only in signs.
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

    /// True if a header with this name is for the application alone.
    func allows(_ folded: String) -> Bool {
        let name = Array(folded.utf8)
        return reason(against: KnownField(name: name.span), folded) == nil
    }

    private func reason(against known: KnownField, _ folded: String) -> String? {
        if folded.hasPrefix("x-attest-") || folded.hasPrefix("x-app-attest-") {
            return "is reserved for the gateway"
        }
        if known.isHopByHop || [.contentLength, .expect].contains(known) {
            return "is about the connection, not for a route to change"
        }
        if known == .host {
            return isRequest ? "is what upstream_host is for" : "is no such header"
        }
        guard isRequest else { return known == .date ? "is written by the answering server" : nil }
        switch known {
        case .forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto, .xRequestID:
            return "is written by the gateway, for every route"
        case .xHTTPMethod, .xHTTPMethodOverride, .xMethodOverride, .xOriginalURL, .xRewriteURL:
            return "asks upstreams for another method or path than the one that was matched"
        default: return nil
        }
    }

    /// A text with no variables but these.
    static func template(
        _ text: String, _ variables: [TextVariable]
    ) throws(Fault) -> TextTemplate {
        do throws(TextTemplate.Fault) {
            return try TextTemplate(text, variables: variables)
        } catch {
            switch error {
            case .unclosed: throw Fault("has a { without }; write a literal one as {{")
            case .unknown:
                let names = variables.map { "{\($0.rawValue)}" }.joined(separator: ", ")
                throw Fault("has a variable that is not one of \(names)")
            }
        }
    }
}
