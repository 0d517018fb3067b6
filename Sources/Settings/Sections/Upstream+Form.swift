import HTTP2
import TLS

extension UpstreamSettings {
    /// An upstream with faults is kept, because routes may name it.
    static var kind: Kind<[UpstreamSettings]> {
        let upstream = Kind.section(form, keepsFaulty: true) { _, upstream in
            // HTTP/1.1 is spoken without ALPN, because some servers do not know it.
            if upstream.protocol == .http2 {
                upstream.tls?.configuration.protocols = [HTTPProtocol.http2.rawValue]
            }
        }
        return Kind<[UpstreamSettings]>.named("NAME", upstream, \.name).checked {
            field, upstreams in
            if upstreams.isEmpty { field.error("is empty: at least one upstream is needed") }
        }
    }

    private static var form: Form<UpstreamSettings> {
        Form(UpstreamSettings(name: "", servers: [])) {
            Setting(
                "servers", \.servers, UpstreamServer.list, required: true,
                "The servers.")
            Setting(
                "balance", \.balance, .word,
                "How a server is chosen, by weight. round_robin: in turn. least_connections: the "
                    + "fewest requests of this worker. hash_key: the same server for a key, or for "
                    + "an address if no key is proved."
            )
            Setting(
                "paths", \.paths, .paths,
                "How the servers read paths, so that routes match as they do. What is not set "
                    + "counts as exact, with a warning if a path is guarded by its spelling alone.")
            Setting(
                "protocol", \.protocol, .word,
                "h2: by ALPN with tls, by prior knowledge without. gRPC needs it.")
            Setting(
                "http2", group: http2,
                "One HTTP/2 connection, for protocol: h2 only. It carries many requests, so "
                    + "connections_max may be small.",
                printed: { $0.protocol == .http2 }
            ) { section, upstream in
                if upstream.protocol != .http2 {
                    section.place.error(
                        "has no use without protocol: h2", at: section.place.keyMark)
                } else if upstream.http2.connectionWindowByteCount
                    < upstream.http2.streamWindowByteCount
                {
                    section.error("connection_window is smaller than stream_window")
                }
            }
            connections
            failures
        }
    }

    private static var http2: Form<UpstreamSettings> {
        Form(UpstreamSettings(name: "", servers: [])) {
            Setting(
                "concurrent_streams", \.http2.concurrentStreamCountMax, HTTP2Limits.streams,
                "Requests in flight on one connection. A server may allow fewer.")
            Setting(
                "stream_window", \.http2.streamWindowByteCount, HTTP2Limits.window,
                "Bytes of one response beyond what clients have taken.")
            Setting(
                "connection_window", \.http2.connectionWindowByteCount, HTTP2Limits.window,
                "Bytes of all responses together.")
            Setting(
                "ping_interval", \.pingInterval,
                .durationOrOff(
                    .seconds(1), .seconds(3600), "servers treat frequent pings as an attack"),
                "A server that has requests and is silent for this long gets a ping, and has as "
                    + "long to answer.")
        }
    }

    @FormBuilder<UpstreamSettings>
    private static var connections: [Setting<UpstreamSettings>] {
        Setting(
            "connect_timeout", \.connectTimeout,
            .duration(.milliseconds(10), .seconds(120), "requests wait for it"),
            "For a connection with its TLS handshake.")
        Setting(
            "send_timeout", \.sendTimeout,
            .duration(.milliseconds(100), .seconds(3600), "requests wait for it"),
            "Between two writes of a request.")
        Setting(
            "response_timeout", \.responseTimeout, responseTimeout,
            "From the end of the request to the response's head.")
        Setting(
            "read_timeout", \.readTimeout, readTimeout,
            "Between two reads of a response's body. Make it long for event streams.")
        Setting(
            "idle_timeout", \.idleTimeout,
            .duration(
                .milliseconds(100), .seconds(3600), "idle connections hold descriptors"),
            "How long an idle connection is kept: less than the upstream keeps it. Keep-Alive: "
                + "timeout=N bounds it to N - 1 seconds.")
        Setting(
            "idle_connections_max", \.idleConnectionCountMax,
            .count(0...65_535, "an address has no more ports"),
            "Idle connections kept by each worker. One HTTP/2 client may have 100 requests in "
                + "flight.")
        Setting(
            "connections_max", \.connectionCountMax,
            .count(1...65_535, "an address has no more ports"),
            "Connections of each worker, busy or idle.")
        Setting(
            "requests_per_connection", \.requestsPerConnectionMax,
            .count(1...1_000_000_000, "a connection serves one request at least"),
            "Requests before a connection is closed.")
        Setting(
            "queue", \.queue, .section(QueueSettings.form),
            "Requests that wait while every connection is busy.")
    }

    @FormBuilder<UpstreamSettings>
    private static var failures: [Setting<UpstreamSettings>] {
        Setting(
            "ejection", \.ejection,
            .section(EjectionSettings.form, check: EjectionSettings.check),
            "When failed requests take a server out for a while. Failures: no connection, no "
                + "response in time, one that breaks off or is not HTTP. No status is a failure.")
        Setting(
            "health_check", optional: \.healthCheck, .section(HealthCheckSettings.form),
            "The gateway's own requests to each server. If no server is up, all are used.")
        Setting(
            "identity", optional: \.identity, .section(UpstreamIdentity.form),
            "The token of verified requests.")
        Setting(
            "slow_start", \.slowStart,
            .durationOrOff(.seconds(1), .seconds(3600), "the other servers bear the rest"),
            "How long a returning server takes to get its whole share again. Not with balance: "
                + "hash_key.")
        Setting(
            "retries", \.retries, .section(RetrySettings.form),
            "Requests are sent again, to another server, if nothing was sent; or if the method is "
                + "idempotent, no byte of a response came, and there was no assertion.")
        Setting(
            "resolve_interval", \.resolveInterval,
            .durationOrOff(
                .seconds(1), .seconds(24 * 3600), "other people use the name servers too"),
            "How often names are resolved again. If that fails, the addresses stay.")
        Setting(
            "tls", optional: \.tls,
            of: { UpstreamTLSReader.kind(to: $0.servers.map(\.endpoint)) },
            "TLS to the servers. {} trusts the system's authorities. If left out, none.")
    }

    static var readTimeout: Kind<Duration> {
        .duration(.milliseconds(100), .seconds(24 * 3600), "requests wait for it")
    }

    static var responseTimeout: Kind<Duration> {
        .duration(.milliseconds(100), .seconds(3600), "requests wait for it")
    }
}

extension Kind where Value == UpstreamPaths {
    /// Only values that the operator has set are printed, because `check` warns of the others.
    static var paths: Kind {
        let ignored = Kind<Bool>.words([("exact", false), ("ignore", true)])
        let form = Form(UpstreamPaths()) {
            Setting(
                "case", optional: \.ignoresCase, ignored,
                "ignore: /API/x is /api/x.")
            Setting(
                "suffixes", optional: \.ignoresSuffixes, ignored,
                "ignore: /x.json, /x., /x;a and a final space are /x.")
            Setting(
                "decode", optional: \.decodesTwice, .words([("once", false), ("twice", true)]),
                "twice: /%2578 is /x.")
        }
        return Kind.section(form).printed { !$0.known.isEmpty }
    }
}
