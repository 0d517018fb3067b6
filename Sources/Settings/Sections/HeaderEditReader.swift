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
                    if let source = line.source { return YAMLPair(line.name, .source(source)) }
                    let text = line.isSecret ? SettingsPrinter.passwordMask : line.value.description
                    return YAMLPair(line.name, .text(text))
                })
        }
        let form = Form(HeaderEdits()) {
            Setting("remove", \.remove, .list(name).unlessEmpty, "Headers to remove.")
            Setting(
                "set", \.set, lines.unlessEmpty,
                "Headers that replace those sent. Values may hold {client_address}, {request_id}, "
                    + "{host} and {key_id} (of a verified request); {{ stands for {."
                    + (isRequest ? " ${file:PATH} adds a key: one line of up to 8KiB." : ""))
            Setting(
                "add", \.add, lines.unlessEmpty,
                "Headers added beside those sent. Values are as in set.")
            isRequest ? [Self.keep(name)] : []
        }
        return .section(form) { section, edits in
            guard isRequest, edits.files.isEmpty, !section.isFaulty("set"), !section.isFaulty("add")
            else { return }
            section.refuse(["keep"], "is used beside a value with ${file:PATH} only")
        }
    }

    private static func keep(_ name: Kind<String>) -> Setting<HeaderEdits> {
        let credential = name.checked { field, name in
            guard !HeaderEdits.credentialNames.contains(name) else { return }
            field.error(
                "\(quoted(name)) is no header that would be removed: those are "
                    + HeaderEdits.credentialNames.joined(separator: ", "))
        }
        return Setting(
            "keep", \.keep, .list(credential).unlessEmpty,
            "A value with ${file:PATH} removes the client's Authorization, Api-Key, X-Api-Key and "
                + "X-Goog-Api-Key, except these.")
    }

    /// The longest text of a file, in bytes. No API has longer keys, and few servers take longer
    /// headers.
    private static let fileByteCountMax = 8 * 1024

    /// The text of a file as a part of a value, in which `{` has no meaning.
    private static func literal(_ text: String) throws(Fault) -> String {
        guard !text.isEmpty else { throw Fault("is empty") }
        guard text.utf8.count <= fileByteCountMax else { throw Fault("holds more than 8KiB") }
        let isLine =
            text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !text.hasPrefix(" ")
            && !text.hasSuffix(" ")
        guard isLine else {
            throw Fault("is not one line of printable ASCII without spaces around it")
        }
        return text.replacing("{", with: "{{")
    }

    private func line(_ field: Field, _ taken: inout Set<String>) -> HeaderLine? {
        guard isFree(field.key, field, at: field.keyMark, &taken),
            let text = field.text(take: Self.literal),
            let value = field.parse(
                text,
                { text throws(Fault) in
                    let template = try Self.template(text, Self.variables)
                    guard HeaderReader.isValue(text) else { throw Fault(HeaderReader.valueRule) }
                    return template
                })
        else { return nil }
        guard isRequest || text.files.isEmpty else {
            field.error("goes to clients: the text of a file belongs in request_headers")
            return nil
        }
        return HeaderLine(
            name: field.key, value: value, isSecret: text.isSubstituted,
            source: text.files.isEmpty ? nil : text.source, files: text.files)
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
