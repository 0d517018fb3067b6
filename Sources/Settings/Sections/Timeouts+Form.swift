extension Timeouts {
    static var form: Form<Timeouts> {
        Form(Timeouts()) {
            Setting(
                "backlog", \.backlog, .durationOrOff(shortest, .seconds(60), "clients give up"),
                "For a request to be read after it came. If the gateway is behind for as long, "
                    + "requests that waited longer get 503, and new TLS connections are closed. "
                    + "off serves all.")
            Setting(
                "request_head", \.requestHead, upTo(.seconds(300), "slow heads hold connections"),
                "For a request's head, from its first byte or the connection's start.")
            Setting(
                "request_body", \.requestBody, requestBodyTimeout,
                "Between two reads of a request's body.")
            Setting(
                "body_grace", \.bodyGrace, upTo(.seconds(600), "slow bodies hold memory"),
                "Before limits.body_rate_min counts.")
            Setting(
                "tls_handshake", \.tlsHandshake,
                upTo(.seconds(120), "unfinished handshakes hold connections"),
                "For a TLS handshake.")
            Setting(
                "idle", \.idle, upTo(.seconds(3600), "idle clients hold connections"),
                "For the next request on a connection.")
            Setting(
                "send", \.send, upTo(.seconds(600), "clients that do not read hold memory"),
                "For a client to take any byte of a response.")
            Setting(
                "response_grace", \.responseGrace,
                upTo(.seconds(600), "clients that do not read hold memory"),
                "Before limits.response_rate_min counts.")
            Setting(
                "http2_settings", \.settings,
                upTo(.seconds(300), "clients acknowledge in a round trip"),
                "For an HTTP/2 client to acknowledge SETTINGS.")
            Setting(
                "request", \.request, requestTimeout,
                "For a whole request, from its first byte to the response's head. A late upstream "
                    + "gives 504, a late client 408.")
            Setting(
                "tunnel", \.tunnel,
                .duration(.seconds(1), .seconds(24 * 3600), "idle tunnels hold connections"),
                "Without a byte through a WebSocket.")
            Setting(
                "registry", \.registry, upTo(.seconds(60), "requests that wait hold memory"),
                "For each request's question to the registry; then 503.")
            Setting(
                "body_file", \.bodyFile, upTo(.seconds(60), "requests that wait hold memory"),
                "For each read and write below limits.temporary_directory; then 503.")
            Setting(
                "drain_delay", \.drainDelay,
                .duration(.zero, .seconds(3600), "a stopping process must end some time"),
                "Before a stop drains. Meanwhile requests are served and /readyz answers 503, so "
                    + "that load balancers notice. A second signal ends the wait.")
            Setting(
                "drain", \.drain,
                .duration(.zero, .seconds(3600), "a stopping process must end some time"),
                "For requests in progress at a stop. 0s cuts them off.")
            Setting(
                "tunnel_drain", \.tunnelDrain,
                .duration(.zero, .seconds(3600), "a stopping process must end some time"),
                "For WebSockets, within drain and upgrade.")
            Setting(
                "upgrade", \.upgrade,
                .duration(.zero, .seconds(60), "new connections wait meanwhile"),
                "For requests in progress at an upgrade (SIGUSR2). New connections wait.")
        }
    }

    static var requestBodyTimeout: Kind<Duration> {
        upTo(.seconds(600), "slow bodies hold memory")
    }

    static var requestTimeout: Kind<Duration> {
        .durationOrOff(shortest, .seconds(24 * 3600), "clients wait for it")
    }

    private static let shortest = Duration.milliseconds(100)

    private static func upTo(_ longest: Duration, _ reason: String) -> Kind<Duration> {
        .duration(shortest, longest, reason)
    }
}
