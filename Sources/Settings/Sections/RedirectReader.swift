import HTTP
import Policy

/// Reads `redirect` of a route, or of a listener.
enum RedirectReader {
    private static let variables: [TextVariable] = [.host, .target, .path, .query, .rest]

    static func redirect(_ field: Field, _ path: PathPattern?) -> Redirect? {
        field.section { redirect(&$0, path) } ?? nil
    }

    static func write(_ redirect: Redirect, to yaml: inout YAMLText) {
        yaml.entry("to", text: redirect.location.description)
        yaml.entry("status", "\(redirect.status)")
    }

    static var entries: [Entry] {
        [
            Entry(
                "to", .text("https://, http:// or path", pattern: "^(https?:/)?/|[{]"),
                required: true,
                "Where to, with {host} (without port), {target} (path and query), {path}, {query} "
                    + "(with its ?) and {rest} (what is below path: /x/*), as they were received."),
            Entry("status", status.shape, standard: "302", "The status of the answer."),
        ]
    }

    static var ofListener: Kind<ListenerRedirect> {
        let except = Entry(
            "except", .list(RoutePath.shape),
            "Paths that go to the endpoints and to routes all the same.")
        return Kind(.section(entries + [except])) { field in
            field.section { section -> ListenerRedirect? in
                var except: [PathPattern] = []
                section.set("except", &except) { $0.list(RoutePath.pattern) }
                // Below no path in particular: there is no rest.
                return redirect(&section, .exact("/")).map {
                    ListenerRedirect(redirect: $0, except: except)
                }
            } ?? nil
        } write: { key, redirect, yaml in
            yaml.mapping(key) { yaml in
                write(redirect.redirect, to: &yaml)
                let except = redirect.except.map(RoutePath.text)
                if !except.isEmpty { yaml.entry("except", list: except) }
            }
        }
    }

    private static var status: Kind<UInt16> {
        .words([("301", 301), ("302", 302), ("303", 303), ("307", 307), ("308", 308)])
    }

    private static func redirect(_ section: inout Section, _ path: PathPattern?) -> Redirect? {
        var status: UInt16 = 302
        section.set("status", &status, Self.status.read)
        guard let toField = section.required("to") else { return nil }
        return location(toField, path).map { Redirect(location: $0, status: status) }
    }

    private static func location(_ field: Field, _ path: PathPattern?) -> TextTemplate? {
        guard let text = field.text(), let location = field.template(text, variables) else {
            return nil
        }
        let isText = text.value.utf8.allSatisfy { byte in
            (0x21...0x7E).contains(byte) && !"\"<>\\^`".utf8.contains(byte)
        }
        guard isText, text.value.utf8.count <= 4096 else {
            field.error("\(text.shown) is not a URL: a byte of it has no place there")
            return nil
        }
        if location.pieces.contains(.variable(.rest)), case .exact? = path {
            field.error("{rest} is what is below a path that ends in /*, and there is none")
            return nil
        }
        if let problem = problem(location.pieces[...]) {
            field.error("\(text.shown) \(problem)")
            return nil
        }
        return location
    }

    /// Why what a client sends could choose the server that the redirect leads to.
    private static func problem(_ pieces: ArraySlice<TextTemplate.Piece>) -> String? {
        guard case .literal(let start)? = pieces.first else {
            return "does not begin with https://, http:// or /"
        }
        let rest = pieces.dropFirst()
        if start.hasPrefix("/") {
            let isOpen = start.hasPrefix("//") || start == "/" && !endsPath(rest.first)
            return isOpen ? "could lead to any server: begin with a path, or with https://" : nil
        }
        guard let scheme = ["https://", "http://"].first(where: start.hasPrefix) else {
            return "does not begin with https://, http:// or /"
        }
        var authority = String(start.dropFirst(scheme.count))
        var after = rest
        if authority.isEmpty {
            guard case .variable(.host)? = rest.first else { return "names no host" }
            after = rest.dropFirst()
            guard case .literal(let text)? = after.first else {
                return beginsPath(after.first) || after.isEmpty ? nil : "has no / behind its host"
            }
            authority = "h" + text
            after = after.dropFirst()
        }
        let end = authority.firstIndex { "/?#".contains($0) }
        let host = Array(authority[..<(end ?? authority.endIndex)].utf8)
        guard RequestHost.isValid(host.span) else { return "names no host that a client could use" }
        guard end == nil, !after.isEmpty, !beginsPath(after.first) else { return nil }
        return "has no / behind its host"
    }

    /// Whether a piece begins with a slash or a question mark, whatever the request.
    private static func beginsPath(_ piece: TextTemplate.Piece?) -> Bool {
        switch piece {
        case .variable(.target), .variable(.path): true
        default: endsPath(piece)
        }
    }

    /// Whether nothing of a path can come any more.
    private static func endsPath(_ piece: TextTemplate.Piece?) -> Bool {
        switch piece {
        case nil, .variable(.query): true
        default: false
        }
    }
}
