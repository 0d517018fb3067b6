import HTTP
import Policy

/// Declares `redirect` of a route, or of a listener.
enum RedirectReader {
    private static let variables: [TextVariable] = [.host, .target, .path, .query, .rest]

    @FormBuilder<Root>
    static func settings<Root>(_ path: WritableKeyPath<Root, Redirect>) -> [Setting<Root>] {
        Setting(
            "to", path.appending(path: \.location), location, required: true,
            "The target. It may hold {host}, {target} (path and query), {path}, {query} (with its "
                + "?) and {rest} (what is below a path that ends in /*), as received.")
        Setting(
            "status", path.appending(path: \.status),
            .words([("301", 301), ("302", 302), ("303", 303), ("307", 307), ("308", 308)]),
            "The redirect's status.")
    }

    /// The redirect before its keys are read.
    static let start = Redirect(location: TextTemplate(literal: ""), status: 302)

    static var ofRoute: Kind<Redirect> { .section(Form(start) { settings(\.self) }) }

    static var ofListener: Kind<ListenerRedirect> {
        let form = Form(ListenerRedirect(redirect: start)) {
            settings(\.redirect)
            Setting(
                "except", \.except, .list(RoutePath.kind).unlessEmpty,
                "Paths that go to the endpoints and to routes.")
        }
        return .section(form) { section, redirect in
            // A listener's redirect is for no path in particular, so there is no rest.
            checkRest(redirect.redirect, section.context, "\(section.place.path).to")
        }
    }

    /// Reports {rest} in the text at `path` if a path does not end in /*.
    static func checkRest(_ redirect: Redirect, _ context: ReadingContext, _ path: String) {
        if redirect.location.pieces.contains(.variable(.rest)) {
            context.error(
                "{rest} is what is below a path that ends in /*, and there is none", at: path)
        }
    }

    private static var location: Kind<TextTemplate> {
        let form = Shape.text("https://, http:// or path", pattern: "^(https?:/)?/|[{]")
        return Kind(form, text: \.description) { text throws(Fault) in
            let location = try HeaderEditReader.template(text, variables)
            guard text.utf8.allSatisfy({ $0.isVisible && !$0.isOne(of: "\"<>\\^`") }),
                text.utf8.count <= 4096
            else {
                throw Fault("is not a URL: a byte of it has no place there")
            }
            if let problem = problem(location.pieces[...]) { throw Fault(problem) }
            return location
        }
    }

    /// The reason why a client could choose the server of the redirect by a part of its request
    /// other than Host; nil if it cannot.
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

    /// True if a piece begins with a slash or a question mark for every request.
    private static func beginsPath(_ piece: TextTemplate.Piece?) -> Bool {
        switch piece {
        case .variable(.target), .variable(.path): true
        default: endsPath(piece)
        }
    }

    /// True if no part of a path can follow.
    private static func endsPath(_ piece: TextTemplate.Piece?) -> Bool {
        switch piece {
        case nil, .variable(.query): true
        default: false
        }
    }
}

extension Redirect {
    /// True if the redirect leads to the request's own Host.
    var leadsToRequestHost: Bool {
        guard location.pieces.count > 1, case .literal(let start) = location.pieces[0],
            case .variable(.host) = location.pieces[1]
        else { return false }
        return ["https://", "http://"].contains(start)
    }
}
