import Bytes
import HTTP
import Policy

/// Reads what a route does with a request that passes: `upstream` and what belongs to it, or
/// `redirect`, or `respond`.
struct RouteActionReader {
    let upstreams: [UpstreamSettings]

    private static var status: Kind<Int> { .count(200...599, "it is a final status") }

    static var entries: [Entry] {
        let response = Shape.section([
            Entry("status", status.shape, required: true, "The status."),
            Entry("body", .text("text"), "The body, up to 64KiB."),
            Entry(
                "content_type", .text("media type"), standard: "text/plain",
                "The Content-Type of the body."),
        ])
        let rewrite = Shape.section([
            Entry("prefix", .text("path", pattern: "^/"), "In place of a path that ends in /*."),
            Entry("path", .text("path", pattern: "^/"), "In place of an exact path."),
        ])
        return [
            Entry("upstream", .text("name of upstreams"), "Where verified requests go."),
            Entry(
                "redirect", .section(RedirectReader.entries), "In place of upstream: a redirect."),
            Entry("respond", response, "In place of upstream: an answer of the gateway's own."),
            Entry("rewrite", rewrite, "Another path for the upstream."),
            Entry(
                "upstream_host", .either([.words(["preserve", "upstream"]), .text("host")]),
                standard: "preserve",
                "The Host that goes upstream: the client's, as the servers are named, or yours."),
            Entry(
                "request_headers", HeaderEditReader.shape,
                "Headers to change on the way to the upstream."),
            Entry(
                "response_headers", HeaderEditReader.shape, "Headers to change on the way back."),
        ]
    }

    func read(_ section: inout Section, into route: inout Route, path: PathPattern?) {
        let upstreamField = section.field("upstream")
        let redirectField = section.field("redirect")
        let respondField = section.field("respond")
        let given = [upstreamField, redirectField, respondField].compactMap(\.self)
        for field in given.dropFirst() {
            field.error(
                "a route has one of upstream, redirect and respond", at: field.keyMark)
        }
        if given.isEmpty { _ = section.required("upstream") }
        route.upstream = upstreamField.flatMap(upstreamIndex)
        if let index = route.upstream {
            route.pathEquivalence = upstreams[index].paths.equivalence
        }
        if let field = redirectField, let redirect = RedirectReader.redirect(field, path) {
            route.answer = .redirect(redirect)
        }
        if let field = respondField, let response = Self.response(field) {
            route.answer = .respond(response)
        }
        let rewriteField = section.field("rewrite")
        route.rewrite = rewriteField.flatMap { rewrite($0, path) }
        let hostField = section.field("upstream_host")
        if let field = hostField, let host = upstreamHost(field, route.upstream) {
            route.upstreamHost = host
        }
        let requestField = section.field("request_headers")
        if let field = requestField, let edits = HeaderEditReader.request.edits(field) {
            route.requestHeaders = edits
        }
        section.set("response_headers", &route.responseHeaders, HeaderEditReader.response.edits)
        guard upstreamField == nil, !given.isEmpty else { return }
        for case let field? in [rewriteField, hostField, requestField] {
            field.error("is used with upstream only", at: field.keyMark)
        }
    }

    private func upstreamIndex(_ field: Field) -> Int? {
        guard let text = field.text() else { return nil }
        // Without any upstream that fault is the one to report.
        guard !upstreams.isEmpty else { return nil }
        guard let index = upstreams.firstIndex(where: { $0.name == text.value }) else {
            let names = upstreams.map(\.name)
            let ending = Suggestion.ending(for: text.value, among: names, listing: true)
            field.error("no upstream is named \(text.shown)\(ending)")
            return nil
        }
        return index
    }

    private func rewrite(_ field: Field, _ path: PathPattern?) -> PathRewrite? {
        let read = field.section { section -> PathRewrite? in
            let prefixField = section.field("prefix")
            let pathField = section.field("path")
            switch path {
            case .prefix:
                pathField?.error("is used with an exact path: write prefix")
                guard let field = prefixField ?? section.required("prefix"),
                    let prefix = Self.path(field)
                else { return nil }
                return .prefix(prefix.hasSuffix("/") ? prefix : prefix + "/")
            case .exact:
                prefixField?.error("is used with a path that ends in /*: write path")
                guard let field = pathField ?? section.required("path") else { return nil }
                return Self.path(field).map(PathRewrite.path)
            case nil: return nil
            }
        }
        return read ?? nil
    }

    private static func path(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        return RoutePath.normalForm(of: text.value, shown: text.shown, field)
    }

    private func upstreamHost(_ field: Field, _ upstream: Int?) -> UpstreamHost? {
        guard let text = field.text() else { return nil }
        switch text.value {
        case "preserve": return .preserve
        case "upstream":
            guard let upstream else { return .upstream }
            guard upstreams[upstream].commonHost != nil else {
                field.error(
                    "the servers of \(quoted(upstreams[upstream].name)) have no name in common: "
                        + "write the host")
                return nil
            }
            return .upstream
        default:
            let bytes = Array(text.value.utf8)
            let ending = Suggestion.ending(
                for: text.value, among: ["preserve", "upstream"], listing: false)
            guard ending.isEmpty, RequestHost.isValid(bytes.span) else {
                field.error("\(text.shown) is neither preserve, upstream, nor a host\(ending)")
                return nil
            }
            return .name(text.value)
        }
    }

    private static func response(_ field: Field) -> FixedResponse? {
        field.section { section -> FixedResponse? in
            var response = FixedResponse(status: 200)
            let status = section.required("status").flatMap(Self.status.read)
            response.status = UInt16(status ?? 200)
            let bodyField = section.field("body")
            if let text = bodyField?.text() {
                if text.value.utf8.count > 64 * 1024 {
                    bodyField?.error("is longer than 64KiB: an upstream is for that")
                }
                if [204, 205, 304].contains(response.status) {
                    bodyField?.error("an answer with status \(response.status) has no body")
                }
                response.body = text.value
            }
            section.set("content_type", &response.contentType) { field in
                guard let text = field.text() else { return nil }
                guard HeaderReader.isValue(text.value), text.value.contains("/") else {
                    field.error("\(text.shown) is not a media type")
                    return nil
                }
                return text.value
            }
            return status == nil ? nil : response
        } ?? nil
    }
}

extension UpstreamSettings {
    /// The name and port that all servers share; nil where they differ, or are paths.
    public var commonHost: String? {
        guard let first = servers.first?.endpoint, case .tcp = first,
            servers.allSatisfy({ $0.endpoint.description == first.description })
        else { return nil }
        return first.description
    }
}
