extension OTLPSettings {
    static var kind: Kind<OTLPSettings> {
        .section(form, meant: "endpoint") { section, settings in
            if section.field("ca") == nil, settings.endpoint.hasPrefix("https:") {
                settings.authorities = section.place.systemAuthorities()
            }
            let host = endpointPlace(settings.endpoint)
            if settings.isPlain, let host, host.isPublic {
                section.warning(
                    "\(host) is reached without TLS: paths, addresses and headers travel in clear "
                        + "text")
            }
            if settings.metricsInterval == .zero, settings.samplePercent == nil {
                section.error("neither metrics nor spans are sent: leave otlp out")
            }
        }
    }

    private static var form: Form<OTLPSettings> {
        Form(OTLPSettings()) {
            Setting(
                "endpoint", \.endpoint, endpoint, required: true,
                "The collector, usually at port 4318: /v1/traces and /v1/metrics are added.")
            Setting(
                "headers", \.headers, headers.unlessEmpty,
                "Headers of each request. ${file:...} keeps a token out of this file.")
            Setting(
                "ca", optional: \.authoritiesPath, .path,
                "Authorities in PEM for the collector, in place of the system's."
            ) { field, settings in
                settings.authorities = field.authorities()
            }
            Setting(
                "metrics_interval", \.metricsInterval,
                .durationOrOff(.seconds(1), .seconds(3600), "the whole page is sent each time"),
                "The time between two exports of the metrics of /metrics. off: none.")
            Setting(
                "sample", \.samplePercent, Kind<Int>.percent.optional.orOff(nil),
                "The share of requests without a valid traceparent that get spans. Those with one "
                    + "get them if it says sampled, and refusals always, both within span_limit. "
                    + "off: no spans.")
            Setting(
                "span_limit", \.spanLimit, .rate,
                "Requests that get spans because their traceparent says so, and as many refusals.")
        }
    }

    private static var endpoint: Kind<String> {
        Kind(.text("http(s)://host:port", pattern: "://")) { field in
            guard let text = field.text() else { return nil }
            var trimmed = text.value
            while trimmed.hasSuffix("/") { trimmed.removeLast() }
            if endpointPlace(trimmed) != nil { return trimmed }
            // The value may hold a password.
            field.error(
                "is not a collector's URL: write http://host:port or https://host:port, with a "
                    + "path behind it if need be, and tokens in headers")
            return nil
        } yaml: {
            .text($0)
        }
    }

    /// The host and port of an endpoint; nil if the text is no endpoint.
    private static func endpointPlace(_ text: String) -> Endpoint? {
        for (prefix, port) in [("http://", 80 as UInt16), ("https://", 443)] {
            guard text.hasPrefix(prefix), text.isVisible,
                !text.utf8.contains(where: { $0.isOne(of: "?#@") })
            else { continue }
            let rest = text.dropFirst(prefix.count)
            let place = rest.prefix { $0 != "/" }
            guard let server = try? URLAuthority.server(place, port: port) else { return nil }
            return .tcp(host: server.host, port: server.port)
        }
        return nil
    }

    private static var headers: Kind<[OTLPHeader]> {
        Kind(.named("HEADER", .text("header value"))) { field in
            var taken: Set<String> = []
            return field.namedFields("HEADER", of: .text("…"))?.compactMap { header($0, &taken) }
        } yaml: { headers in
            .mapping(
                headers.map { header in
                    let text = header.isSecret ? SettingsPrinter.passwordMask : header.value
                    return YAMLPair(header.name, .text(text))
                })
        }
    }

    private static func header(_ field: Field, _ taken: inout Set<String>) -> OTLPHeader? {
        let name = field.key.lowercased()
        guard HeaderReader.isName(field.key) else {
            field.error("\(quoted(field.key)) \(HeaderReader.nameRule)", at: field.keyMark)
            return nil
        }
        guard !ownNames.contains(name) else {
            field.error("\(quoted(field.key)) is written by the gateway", at: field.keyMark)
            return nil
        }
        guard taken.insert(name).inserted else {
            field.error("\(quoted(field.key)) is named twice", at: field.keyMark)
            return nil
        }
        guard let text = field.text() else { return nil }
        guard HeaderReader.isValue(text.value) else {
            // The value may hold a token.
            field.error(HeaderReader.valueRule)
            return nil
        }
        return OTLPHeader(name: field.key, value: text.value, isSecret: text.isSubstituted)
    }

    /// Headers that frame a request or describe its content.
    private static let ownNames: Set<String> = [
        "connection", "content-encoding", "content-length", "content-type", "expect", "host", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]
}
