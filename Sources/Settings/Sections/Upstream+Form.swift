import HTTP2

extension UpstreamReader {
    /// All but what depends on more than one key.
    static var form: Form<UpstreamSettings> {
        Form(UpstreamSettings(name: "", servers: [])) {
            Setting(
                "servers", UpstreamServerReader.shape, required: true,
                "The servers: an address each, or a mapping with more about it."
            ) { section, upstream in
                if let servers = section.required("servers").flatMap(UpstreamServerReader.servers) {
                    upstream.servers = servers
                }
            } write: { upstream, yaml in
                yaml.list("servers", upstream.servers) { UpstreamServer.form.write($1, to: &$0) }
            }
            Setting(
                "balance", \.balance, .word,
                "round_robin: in turn. least_connections: the server with the fewest requests of "
                    + "this worker. hash_key: always the same one for an attested key (for a "
                    + "client address, if a request proves no key). All by weight.")
            Setting(
                "paths", \.paths, .paths,
                "How the servers read paths, so that routes match as they do. What goes upstream "
                    + "stays as it came.")
            Setting(
                "protocol", \.protocol, .word,
                "h2: by ALPN with tls, by prior knowledge without. gRPC needs h2.")
            Setting(
                "http2", http2.shape, "One connection to a server, with protocol: h2 only.",
                read: readHTTP2
            ) { upstream, yaml in
                guard upstream.protocol == .http2 else { return }
                yaml.mapping("http2") { http2.write(upstream, to: &$0) }
            }
            connections
            failures
        }
    }

    private static func readHTTP2(_ section: inout Section, _ upstream: inout UpstreamSettings) {
        guard let field = section.field("http2") else { return }
        guard upstream.protocol == .http2 else {
            return field.error("has no use without protocol: h2", at: field.keyMark)
        }
        _ = field.section { section in
            http2.read(&section, into: &upstream)
            if upstream.http2.connectionWindowByteCount < upstream.http2.streamWindowByteCount {
                field.error("connection_window is smaller than stream_window")
            }
        }
    }

    private static var http2: Form<UpstreamSettings> {
        Form(UpstreamSettings(name: "", servers: [])) {
            Setting(
                "concurrent_streams", \.http2.concurrentStreamCountMax, HTTP2Limits.streams,
                "Requests under way on one connection. A server may allow fewer.")
            Setting(
                "stream_window", \.http2.streamWindowByteCount, HTTP2Limits.window,
                "What a server may send of one answer beyond what clients have taken.")
            Setting(
                "connection_window", \.http2.connectionWindowByteCount, HTTP2Limits.window,
                "The same of all answers together.")
            Setting(
                "ping_interval", \.pingInterval,
                .durationOrOff(
                    .seconds(1), .seconds(3600), "servers take frequent pings for an attack"),
                "A server that has requests and says nothing for so long is asked whether it is "
                    + "there, and has as long to answer.")
        }
    }

    private static var connections: Form<UpstreamSettings> {
        Form(UpstreamSettings(name: "", servers: [])) {
            Setting(
                "connect_timeout", \.connectTimeout,
                .duration(.milliseconds(10), .seconds(120), "requests wait for it"),
                "For a connection.")
            Setting(
                "send_timeout", \.sendTimeout,
                .duration(.milliseconds(100), .seconds(3600), "requests wait for it"),
                "Between two writes of a request.")
            Setting(
                "response_timeout", \.responseTimeout, responseTimeout,
                "From the end of the request to the head of the answer.")
            Setting(
                "read_timeout", \.readTimeout, readTimeout,
                "Between two reads of an answer's body: long for streams that may be silent.")
            Setting(
                "idle_timeout", \.idleTimeout,
                .duration(
                    .milliseconds(100), .seconds(3600), "idle connections hold descriptors"),
                "How long an idle connection is kept: less than the upstream keeps it.")
            Setting(
                "idle_connections_max", \.idleConnectionCountMax,
                .count(0...65_535, "an address has no more ports"),
                "Idle connections kept by each worker. With fewer than it has requests in flight "
                    + "at times it connects anew all the time.")
            Setting(
                "connections_max", \.connectionCountMax,
                .count(1...65_535, "an address has no more ports"),
                "Connections of each worker, busy or idle.")
            Setting(
                "requests_per_connection", \.requestsPerConnectionMax,
                .count(1...1_000_000_000, "a connection serves one request at least"),
                "After so many requests a connection is closed.")
            Setting(
                "queue", \.queue, .section(QueueSettings.form),
                "Requests that wait while every connection is busy.")
        }
    }

    private static var failures: Form<UpstreamSettings> {
        Form(UpstreamSettings(name: "", servers: [])) {
            Setting(
                "ejection", \.ejection,
                .section(EjectionSettings.form, check: EjectionSettings.check),
                "When failed requests put a server out for a while.")
            Setting(
                "health_check", optional: \.healthCheck, .section(HealthCheckSettings.form),
                "Requests of the gateway's own to each server. Left out: none are made.")
            Setting(
                "identity", optional: \.identity, .section(UpstreamIdentity.form),
                "The token that verified requests carry. Left out: none.")
            Setting(
                "slow_start", \.slowStart,
                .durationOrOff(.seconds(1), .seconds(3600), "the other servers bear the rest"),
                "How long a server that was out takes to get its whole share again. Not with "
                    + "balance: hash_key, where each step would move keys.")
            Setting(
                "retries", \.retries, .section(RetrySettings.form),
                "Requests are sent again, to another server, if that is safe.")
            Setting(
                "resolve_interval", \.resolveInterval,
                .durationOrOff(
                    .seconds(1), .seconds(24 * 3600), "name servers are not ours alone"),
                "How often names are resolved again. A name that cannot be resolved keeps its "
                    + "addresses.")
            Setting(
                "tls", UpstreamTLSReader.form.shape,
                "TLS to the servers. Left out: none. {} is enough if authorities of the system "
                    + "vouch for them."
            ) { section, upstream in
                let servers = upstream.servers.map(\.endpoint)
                upstream.tls = section.field("tls").flatMap {
                    UpstreamTLSReader.tls($0, servers: servers)
                }
            } write: { upstream, yaml in
                if let tls = upstream.tls { UpstreamTLSReader.write(tls, to: &yaml) }
            }
        }
    }

    static var readTimeout: Kind<Duration> {
        .duration(.milliseconds(100), .seconds(24 * 3600), "requests wait for it")
    }

    static var responseTimeout: Kind<Duration> {
        .duration(.milliseconds(100), .seconds(3600), "requests wait for it")
    }
}

extension Kind where Value == UpstreamPaths {
    /// Only what was said is printed: the rest is warned of.
    static var paths: Kind {
        let ignored = Kind<Bool>.words([("exact", false), ("ignore", true)])
        let form = Form(UpstreamPaths()) {
            Setting(
                "case", optional: \.ignoresCase, ignored,
                "ignore: /API/x is /api/x. Left out: as exact, with a warning where it matters.")
            Setting(
                "suffixes", optional: \.ignoresSuffixes, ignored,
                "ignore: /x.json, /x., /x;a and a space at the end are /x.")
            Setting(
                "decode", optional: \.decodesTwice, .words([("once", false), ("twice", true)]),
                "twice: /%2578 is /x.")
        }
        return Kind(form.shape, read: Kind.section(form).read) { key, paths, yaml in
            guard !paths.known.isEmpty else { return }
            yaml.mapping(key) { form.write(paths, to: &$0) }
        }
    }
}
