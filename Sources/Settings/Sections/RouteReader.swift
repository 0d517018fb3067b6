import Policy

/// Declares `routes`.
struct RouteReader {
    let upstreams: [UpstreamSettings]
    let proofs: [ProofSettings]
    /// The bound on bodies for routes that set none.
    var bodyByteCountMax = 0

    /// Routes with faults are kept, but no further fault is concluded from their faulty values.
    var kind: Kind<[Route]> {
        .list(
            all: .section(form, keepsFaulty: true, check: check),
            empty: "is empty: at least one route is needed")
    }

    private var form: Form<Route> {
        let start = Route(
            name: "", path: .exact("/"), methods: [], upstream: nil, attest: RoutePolicy(),
            bodyByteCountMax: bodyByteCountMax)
        let action = RouteActionReader(upstreams: upstreams)
        return Form(start, first: ["attest"]) {
            RouteMatchReader.settings
            action.upstream
            Setting(
                "body_max", \.bodyByteCountMax, Limits.bodySize, standard: "",
                "The longest request body. Longer ones get 413. If left out: limits.body.")
            handling
            action.settings
            RouteOverrideReader.settings(start)
            Setting(
                "problem_detail", \.tellsCause, .tellsCause, standard: "false",
                "Tells clients the cause of refusals, as listeners[].problem_detail does.")
            Setting(
                "allow_weaker", \.allowsWeaker, .trueFalse.printed { $0 }, standard: "false",
                "Permits requests to reach a place of an upstream that a stricter route guards, by "
                    + "another host, header or rewritten path. Otherwise that is an error.")
            Setting(
                "attest", group: AttestReader(proofs: proofs).form(start), meant: "mode",
                required: true,
                "What a request must prove.",
                check: AttestReader.check)
        }
    }

    @FormBuilder<Route>
    private var handling: [Setting<Route>] {
        Setting(
            "rate_limit", \.rateLimits, .rateLimits(allowingKey: true),
            "Rate limits. A limit by: key needs attest.mode observe or enforce.")
        Setting(
            "quota", \.quotas, .quotas,
            "Quotas that requests are charged to once their proof was accepted. Answers tell what "
                + "is left in RateLimit-Policy and RateLimit.")
        Setting(
            "tell_quota", \.tellsQuotas, .trueFalse.printed { $0 }, standard: "false",
            "Tells the upstream what is left, in X-Attest-Quota-NAME-Remaining.")
        Setting(
            "request_body", \.streamsBody,
            .words([("hold", false), ("stream", true)]).printed { $0 }, standard: "hold",
            "hold: a body is complete before any of it goes on. stream: it goes on as it arrives, "
                + "for large uploads and gRPC. stream needs attest.mode off.")
        Setting(
            "body_rules", \.bodyRules, BodyRuleReader.kind.unlessEmpty,
            "What members of the JSON body may be, whatever attest.mode is. Other bodies get 403 "
                + "body_refused.")
        Setting(
            "on_client_close", \.onClientClose, .word, standard: "finish",
            "What happens if the client closes the connection, or its sending side, before the "
                + "response is complete. finish: the request is served. cancel: it ends, upstream "
                + "too, for event streams and costly work. A reset ends it in any case.")
        Setting(
            "upgrade", \.allowsWebSocket,
            Kind<[Bool]>.list(.words([("websocket", true)])).map(
                { !$0.isEmpty }, from: { $0 ? [true] : nil }),
            "Protocols that a verified GET without a body may change to, with HTTP/1.1 on both "
                + "sides."
        ) { field, route in
            guard route.allowsWebSocket, let index = route.upstream,
                upstreams[index].protocol == .http2
            else { return }
            field.error(
                "needs an upstream with protocol http/1.1: \(quoted(upstreams[index].name)) has "
                    + "h2, where nothing is upgraded")
        }
    }

    private func check(_ section: inout Section, _ route: inout Route) {
        RouteActionReader.check(&section, route)
        RouteOverrideReader.check(&section, route)
        QuotaReader.check(&section, route)
        let isModeKnown = !section.context.isFaulty("\(section.place.path).attest.mode")
        if isModeKnown, route.attest.mode == .off, let field = section.good("rate_limit") {
            RateLimitReader.refuseKeys(in: field)
        }
        if case .exact = route.path, !section.isFaulty("path"), let redirect = route.redirect {
            RedirectReader.checkRest(redirect, section.context, "\(section.place.path).redirect.to")
        }
        if let redirect = route.redirect, route.hosts.isEmpty, redirect.leadsToRequestHost {
            section.context.warning(
                "leads to whatever host a request names: list hosts beside redirect, or begin with "
                    + "a path", at: "\(section.place.path).redirect.to")
        }
        guard route.streamsBody, let field = section.field("request_body") else { return }
        if route.answer != nil {
            field.error("is used with upstream only", at: field.keyMark)
        } else if !route.bodyRules.isEmpty {
            field.error("body_rules need hold: a rule is kept only by a body that is complete")
        } else if route.attest.mode != .off {
            field.error(
                "stream needs attest.mode off: with \(route.attest.mode) no byte of a body goes on "
                    + "before all of it is verified")
        }
    }
}
