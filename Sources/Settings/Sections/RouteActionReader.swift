import Bytes
import HTTP
import Policy

/// Declares the action on a request that passes: `upstream` with the keys that belong to it,
/// `redirect`, or `respond`.
struct RouteActionReader {
    let upstreams: [UpstreamSettings]

    var upstream: Setting<Route> {
        Setting(
            "upstream", optional: \.upstream, upstreamIndex,
            "Where verified requests go. A route has one of upstream, redirect and respond."
        ) { _, route in
            if let index = route.upstream {
                route.pathEquivalence = upstreams[index].paths.equivalence
            }
        }
    }

    @FormBuilder<Route>
    var settings: [Setting<Route>] {
        Setting(
            "redirect", optional: \.redirect, RedirectReader.ofRoute,
            "Instead of upstream: a redirect.")
        Setting(
            "respond", optional: \.response, .section(Self.response),
            "Instead of upstream: a fixed response.")
        Setting(
            "rewrite", optional: \.rewrite, of: { Self.rewrite($0.path) },
            "Another path for the upstream. Assertions sign the client's path.")
        Setting(
            "upstream_host", \.upstreamHost, Self.upstreamHost.printed { $0 != .preserve },
            standard: "preserve",
            "The Host. preserve: the client's. upstream: the servers' own."
        ) { field, route in
            guard route.upstreamHost == .upstream, let index = route.upstream,
                upstreams[index].commonHost == nil
            else { return }
            field.error(
                "the servers of \(quoted(upstreams[index].name)) have no name in common: write "
                    + "the host")
        }
        Setting(
            "request_headers", \.requestHeaders, HeaderEditReader.request.kind,
            "Headers to change in requests.")
        Setting(
            "response_headers", \.responseHeaders, HeaderEditReader.response.kind,
            "Headers to change in responses.")
    }

    static func check(_ section: inout Section, _ route: Route) {
        let given = ["upstream", "redirect", "respond"].filter { section.field($0) != nil }
        section.refuse(
            Array(given.dropFirst()), "a route has one of upstream, redirect and respond")
        if given.isEmpty {
            _ = section.required("upstream")
        } else if given[0] != "upstream" {
            section.refuse(
                ["rewrite", "upstream_host", "request_headers", "body_rules", "quota"],
                "is used with upstream only")
        }
    }

    private var upstreamIndex: Kind<Int> {
        Kind(.text("name of upstreams")) { field in
            // If there is no upstream, only that is reported.
            field.name(among: upstreams.map(\.name)) { "no upstream is named \($0)" }
                .flatMap { name in upstreams.firstIndex { $0.name == name } }
        } yaml: {
            upstreams.indices.contains($0) ? .text(upstreams[$0].name) : .absent
        }
    }

    private static var response: Form<FixedResponse> {
        Form(FixedResponse(status: 200)) {
            Setting(
                "status", \.status,
                Kind<Int>.count(200...599, "it is a final status").map(
                    { UInt16($0) }, from: { Int($0) }), required: true, "The status.")
            Setting(
                "body", \.body, Kind.text(.text("text"), { $0.text()?.value }).unlessEmpty,
                "The body, up to 64KiB."
            ) { field, response in
                if response.body.utf8.count > 64 * 1024 {
                    field.error("is longer than 64KiB: an upstream is for that")
                }
                if [204, 205, 304].contains(response.status) {
                    field.error("an answer with status \(response.status) has no body")
                }
            }
            Setting(
                "content_type", \.contentType,
                .text(.text("media type"), "is not a media type") {
                    HeaderReader.isValue($0) && $0.contains("/")
                }, "The body's Content-Type.")
        }
    }

    private static func rewrite(_ path: PathPattern) -> Kind<PathRewrite> {
        let normal = Kind(.text("path", pattern: "^/"), text: \.self, parse: RoutePath.normalForm)
        let form = Form(PathRewrite.path("")) {
            Setting(
                "prefix", \.self,
                normal.map(
                    { .prefix($0.hasSuffix("/") ? $0 : $0 + "/") },
                    from: { if case .prefix(let prefix) = $0 { prefix } else { nil } }),
                "Replaces the path of a route with /*; the rest and the query stay.")
            Setting(
                "path", \.self,
                normal.map(
                    { .path($0) },
                    from: { if case .path(let path) = $0, !path.isEmpty { path } else { nil } }),
                "Replaces the path of a route without /*; the query stays.")
        }
        return .section(form) { section, _ in
            switch path {
            case _ where section.place.isFaulty(beside: "path"): break
            case .prefix:
                section.field("path")?.error("is used with an exact path: write prefix")
                _ = section.required("prefix")
            case .exact:
                section.field("prefix")?.error("is used with a path that ends in /*: write path")
                _ = section.required("path")
            }
        }
    }

    private static var upstreamHost: Kind<UpstreamHost> {
        let host = Kind(.text("host"), text: \.self) { text throws(Fault) in
            let bytes = Array(text.utf8)
            let ending = Suggestion.ending(
                for: text, among: ["preserve", "upstream"], listing: false)
            guard ending.isEmpty, RequestHost.isValid(bytes.span) else {
                throw Fault("is neither preserve, upstream, nor a host\(ending)")
            }
            return text
        }
        return .words(
            [("preserve", .preserve), ("upstream", .upstream)],
            or: host.map(
                { .name($0) }, from: { if case .name(let name) = $0 { name } else { nil } }))
    }
}

extension Route {
    var redirect: Redirect? {
        get { if case .redirect(let redirect)? = answer { redirect } else { nil } }
        set { answer = newValue.map(RouteAnswer.redirect) }
    }

    fileprivate var response: FixedResponse? {
        get { if case .respond(let response)? = answer { response } else { nil } }
        set { answer = newValue.map(RouteAnswer.respond) }
    }
}

extension UpstreamSettings {
    /// The name and port of all servers; nil if they differ, or if they are paths.
    public var commonHost: String? {
        guard let first = servers.first?.endpoint, case .tcp = first,
            servers.allSatisfy({ $0.endpoint.description == first.description })
        else { return nil }
        return first.description
    }
}
