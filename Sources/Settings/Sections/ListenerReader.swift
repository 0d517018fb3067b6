import HTTP

/// Declares `listeners`.
enum ListenerReader {
    static let allowances: [(name: String, value: TargetAllowances)] = [
        ("dot_segments", .dotSegments), ("empty_segments", .emptySegments),
        ("encoded_slash", .encodedSlash), ("backslash", .backslash),
        ("path_parameters", .pathParameters), ("encoded_control", .encodedControl),
    ]

    static var kind: Kind<[ListenerSettings]> {
        .list(
            all: .section(form, keepsFaulty: true, check: check),
            empty: "is empty: at least one listener is needed")
    }

    private static var form: Form<ListenerSettings> {
        let peers = Kind<[TrustedProxy]>.list(peer)
        // The default protocols depend on tls.
        return Form(ListenerSettings(bind: .unix(path: "")), first: ["tls"]) {
            Setting(
                "bind", \.bind, .bind, required: true,
                "Where to listen. Port 0 takes any free port.")
            Setting(
                "allow", \.allow, .options(allowances),
                "Spellings of a path on which servers disagree, and which otherwise get 400. Allow "
                    + "one only if your clients send it and your upstream reads it as the gateway "
                    + "does. dot_segments: /a/../b and %2E. empty_segments: //. encoded_slash: "
                    + "%2F. backslash: \\ and %5C. encoded_control: %01 to %1F, and %7F. "
                    + "path_parameters: ;x=y, on routes with attest.mode observe or enforce.")
            Setting(
                "trusted_proxies", \.trustedProxies, peers,
                "Peers whose Forwarded, X-Forwarded-* and X-Request-Id headers are kept, not "
                    + "replaced; unix means every process that may connect to a unix socket."
            )
            Setting(
                "proxy_protocol", \.proxyProtocol,
                .section(
                    "from", .list(peer, empty: "is empty: leave proxy_protocol out").unlessEmpty,
                    "The peers."), proxyProtocolText)
            Setting(
                "rate_limit", \.rateLimits, .rateLimits(),
                "Rate limits that count every request here.")
            Setting(
                "protocols", \.protocols,
                .list(.word, empty: "is empty: nothing could be spoken there"),
                "The protocols, the preferred one first; with tls by ALPN, and by default [h2, "
                    + "http/1.1]. Without tls, h2 needs prior knowledge; Upgrade: h2c is ignored.")
            Setting(
                "problem_detail", \.tellsCause, .tellsCause, standard: "false",
                "Tells clients the cause of refusals: detail and cause in the problem document, "
                    + "and environment_not_allowed or app_mismatch as code. For staging: it helps "
                    + "attackers too.")
            Setting(
                "redirect", optional: \.redirect, RedirectReader.ofListener,
                "Redirects all requests, except some paths. See routes[].redirect.")
            Setting(
                "check", optional: \.check, .section(checkForm),
                "Answers a proxy that asks about requests and forwards them itself.")
            Setting(
                "tls", optional: \.tls, ListenerTLSReader.kind,
                "TLS 1.2 and 1.3. Its files are read at the start and at SIGHUP."
            ) { _, listener in
                // Without TLS, a listener speaks HTTP/2 only if the operator asks for it.
                listener.protocols = [.http2, .http1]
            }
        }
    }

    private static var checkForm: Form<CheckSettings> {
        Form(CheckSettings()) {
            Setting(
                "dialect", \.dialect, .word(meanings: dialectMeanings), required: true,
                "How the proxy asks, at or (envoy) below /check. It must set or remove each header "
                    + "named. nginx (auth_request): X-Original-Method, X-Original-URI, "
                    + "X-Original-Host (or Host), X-Original-Content-Length, "
                    + "X-Original-Transfer-Encoding. forward (Traefik, Caddy, HAProxy): "
                    + "X-Forwarded-Method, X-Forwarded-Uri, X-Forwarded-Host, "
                    + "X-Forwarded-Content-Length, X-Forwarded-Transfer-Encoding. envoy (ext_authz "
                    + "over HTTP): X-Envoy-Auth-Partial-Body. envoy_grpc: ext_authz and ext_proc; "
                    + "needs h2 in protocols. json: POST with an object.")
            Setting(
                "from", \.from, .list(peer, empty: "is empty: no peer could ask"), required: true,
                "The peers that may ask, and whose headers are believed; unix means every process "
                    + "that may connect to a unix socket.")
        }
    }

    /// The dialects, by the names of proxies and their modules.
    private static let dialectMeanings: [String: CheckDialect] = [
        "auth_request": .nginx, "haproxy": .forward, "traefik": .forward, "caddy": .forward,
        "forward_auth": .forward, "ext_authz": .envoy, "istio": .envoy,
    ]

    private static func check(_ section: inout Section, _ listener: inout ListenerSettings) {
        if listener.check != nil, listener.redirect != nil {
            section.field("redirect")?.error(
                "a listener with check answers questions and cannot redirect")
        }
        if listener.check?.dialect == .envoyGRPC, !listener.protocols.contains(.http2) {
            section.field("check")?.error(
                "envoy_grpc is spoken over HTTP/2: add protocols: [h2], or tls")
        }
        guard !section.isFaulty("bind") else { return }
        if listener.bind.isPublic, listener.isPlain {
            section.field("bind")?.warning(
                "\(listener.bind) takes plain HTTP from any machine that reaches it: give it tls, "
                    + "or name in trusted_proxies or proxy_protocol the proxy that ends TLS")
        }
        for (key, proxies) in [
            ("trusted_proxies", listener.trustedProxies),
            ("proxy_protocol.from", listener.proxyProtocol),
            ("check.from", listener.check?.from ?? []),
        ] {
            for (index, proxy) in proxies.enumerated()
            where listener.bind.isUnix != (proxy == .unix) {
                section.context.warning(
                    "\(proxy) is never a peer of \(listener.bind)",
                    at: "\(section.place.path).\(key)[\(index)]")
            }
        }
    }

    private static let proxyProtocolText =
        "Peers whose connections must begin with a PROXY header, version 1 or 2. Its address is "
        + "the client's: in the log, in forwarding headers, for limits, and for "
        + "trusted_proxies."

    private static var peer: Kind<TrustedProxy> {
        let block = Kind<AddressBlock>.addressBlock.checked { field, block in
            if block.prefixBitCount == 0 {
                field.warning("\(block) lets every client say who it is")
            }
        }
        let unix = TrustedProxy.unix.description
        return Kind(.text("address block, or unix")) { field in
            field.isScalar(unix) ? .unix : block.read(field).map { .block($0) }
        } yaml: {
            .text($0.description)
        }
    }
}

extension ListenerSettings {
    /// True if clients, as far as the settings show, send requests without TLS.
    fileprivate var isPlain: Bool {
        tls == nil && redirect == nil && check == nil && trustedProxies.isEmpty
            && proxyProtocol.isEmpty
    }
}

extension Kind where Value == Bool {
    /// `problem_detail` for listeners and routes.
    static var tellsCause: Kind {
        trueFalse.printed { $0 }.checked { field, isOn in
            if isOn {
                field.warning(
                    "tells clients why they are refused, strangers too: for staging, not for "
                        + "production")
            }
        }
    }
}

extension TrustedProxy: CustomStringConvertible {
    public var description: String {
        switch self {
        case .block(let block): block.description
        case .unix: "unix"
        }
    }
}

extension Endpoint {
    public var isUnix: Bool { if case .unix = self { true } else { false } }
}
