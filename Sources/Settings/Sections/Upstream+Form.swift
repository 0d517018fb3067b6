import HTTP2
import TLS

extension UpstreamSettings {
    /// An upstream with faults is kept: routes may name it.
    static var kind: Kind<[UpstreamSettings]> {
        let upstream = Kind.section(form, keepsFaulty: true) { _, upstream in
            // Nothing is said to servers that are spoken to in HTTP/1.1: some know no ALPN.
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
                "The servers, each an address or a mapping.")
            Setting(
                "balance", \.balance, .word,
                "How a server is chosen, always by weight. round_robin: in turn. "
                    + "least_connections: the server with the fewest requests of this worker. "
                    + "hash_key: always the same server for an attested key, or for a client "
                    + "address if a request proves no key; a server that is out lends its keys "
                    + "to the others."
            )
            Setting(
                "paths", \.paths, .paths,
                "How the servers read paths, so that routes match as they do. What goes upstream "
                    + "stays as it came. A spelling that is not set here counts as exact, with a "
                    + "warning where a path is guarded by its spelling alone.")
            Setting(
                "protocol", \.protocol, .word,
                "http/1.1, or h2: by ALPN with tls (a server that does not choose h2 is not "
                    + "used), by prior knowledge without. gRPC needs h2.")
            Setting(
                "http2", group: http2,
                "The settings of one HTTP/2 connection to a server, for protocol: h2 only. Each "
                    + "connection carries many requests, so connections_max and "
                    + "idle_connections_max may be small.",
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
                "What a server may send of one response beyond what clients have taken.")
            Setting(
                "connection_window", \.http2.connectionWindowByteCount, HTTP2Limits.window,
                "What a server may send of all responses together.")
            Setting(
                "ping_interval", \.pingInterval,
                .durationOrOff(
                    .seconds(1), .seconds(3600), "servers treat frequent pings as an attack"),
                "A server that has requests and says nothing for this long is asked whether it is "
                    + "there, and has as long to answer.")
        }
    }

    @FormBuilder<UpstreamSettings>
    private static var connections: [Setting<UpstreamSettings>] {
        Setting(
            "connect_timeout", \.connectTimeout,
            .duration(.milliseconds(10), .seconds(120), "requests wait for it"),
            "For a connection, including its TLS handshake.")
        Setting(
            "send_timeout", \.sendTimeout,
            .duration(.milliseconds(100), .seconds(3600), "requests wait for it"),
            "Between two writes of a request.")
        Setting(
            "response_timeout", \.responseTimeout, responseTimeout,
            "From the end of the request to the head of the response.")
        Setting(
            "read_timeout", \.readTimeout, readTimeout,
            "Between two reads of a response's body. Make it long for streams that may be "
                + "silent.")
        Setting(
            "idle_timeout", \.idleTimeout,
            .duration(
                .milliseconds(100), .seconds(3600), "idle connections hold descriptors"),
            "How long an idle connection is kept: less than the upstream keeps it. If a "
                + "server says Keep-Alive: timeout=N, it is kept for N - 1 seconds at most; "
                + "if it does not, a request that must not be sent twice takes no connection "
                + "that has been idle for a second.")
        Setting(
            "idle_connections_max", \.idleConnectionCountMax,
            .count(0...65_535, "an address has no more ports"),
            "Idle connections kept by each worker. A worker that often has more requests in "
                + "flight keeps connecting: a single HTTP/2 client may have 100 of them.")
        Setting(
            "connections_max", \.connectionCountMax,
            .count(1...65_535, "an address has no more ports"),
            "Connections of each worker, busy or idle.")
        Setting(
            "requests_per_connection", \.requestsPerConnectionMax,
            .count(1...1_000_000_000, "a connection serves one request at least"),
            "After this many requests a connection is closed.")
        Setting(
            "queue", \.queue, .section(QueueSettings.form),
            "Requests that wait while every connection is busy.")
    }

    @FormBuilder<UpstreamSettings>
    private static var failures: [Setting<UpstreamSettings>] {
        Setting(
            "ejection", \.ejection,
            .section(EjectionSettings.form, check: EjectionSettings.check),
            "When failed requests take a server out for a while. A failure is no connection, "
                + "no response in time, a response that breaks off, or one that is not HTTP; "
                + "no status is.")
        Setting(
            "health_check", optional: \.healthCheck, .section(HealthCheckSettings.form),
            "Requests of the gateway's own to each server. If left out, none are made. When "
                + "no server is up, all are used.")
        Setting(
            "identity", optional: \.identity, .section(UpstreamIdentity.form),
            "The token that verified requests carry. If left out, none.")
        Setting(
            "slow_start", \.slowStart,
            .durationOrOff(.seconds(1), .seconds(3600), "the other servers bear the rest"),
            "How long a server that was out, or down by its checks, takes to get its whole "
                + "share again. Not with balance: hash_key, where each step would move keys.")
        Setting(
            "retries", \.retries, .section(RetrySettings.form),
            "Requests are sent again, to another server, if that is safe: nothing had been "
                + "sent; or the method is idempotent, no byte of a response came, and there "
                + "was no assertion. A request that met a server closing an idle connection, "
                + "and never got there, is sent again in any case.")
        Setting(
            "resolve_interval", \.resolveInterval,
            .durationOrOff(
                .seconds(1), .seconds(24 * 3600), "other people use the name servers too"),
            "How often names are resolved again. A name that cannot be resolved keeps its "
                + "addresses.")
        Setting(
            "tls", optional: \.tls,
            of: { UpstreamTLSReader.kind(to: $0.servers.map(\.endpoint)) },
            "TLS to the servers. If left out, none. {} is enough if authorities that the "
                + "system trusts vouch for them.")
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
