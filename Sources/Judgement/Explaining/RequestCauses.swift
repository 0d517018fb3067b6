/// The causes that lie in the request itself, and every reason without a detail.
enum RequestCauses {
    private typealias Row = CauseExplanation

    private static let report = "Report it, with the line and the events around it."

    static let requests: [CauseExplanation] = [
        Row(
            [.notFound], ["no_route"], .clientApp,
            "No route takes this host, method and path.",
            "See sallyport route. Scanners end here, too."),
        Row(
            [.notFound], ["admin"], .operator, "The admin listener has no such path.",
            "Observe lists the paths of the admin listener."),
        Row(
            [.notFound], ["identity"], .operator, "No keys of identity tokens are configured.",
            "Configure identity, or do not ask for its keys."),
        Row(
            [.methodNotAllowed], ["endpoint"], .clientApp,
            "An endpoint of the gateway does not take this method.",
            "See the answer's Allow."),
        Row(
            [.methodNotAllowed], ["admin"], .operator,
            "The path of the admin listener does not take this method.",
            "See the answer's Allow."),
        Row(
            [.badRequest], ["http2_malformed"], .clientApp,
            "The HTTP/2 message is malformed (RFC 9113 section 8.1.1).",
            "See what the client sends; attackers try this, too."),
        Row(
            [.badRequest], ["http2_ambiguous"], .stranger,
            "The HTTP/2 message would become another one in HTTP/1.1.",
            "Nothing: apps do not send it."),
        Row(
            [.badRequest], ["max_forwards_invalid"], .clientApp,
            "Max-Forwards is not a number.",
            "Correct the sender."),
        Row(
            [.bodyRefused], ["body_rule: <pointer>"], .clientApp,
            "The member at this place of the JSON body is not what body_rules allow, or it is "
                + "there twice or in another spelling.",
            "Send a value that is allowed, or change the rule."),
        Row(
            [.bodyRefused], ["body_is_not_json"], .clientApp,
            "The body is not one JSON object, as body_rules of the route need it.",
            "Send one JSON object."),
        Row(
            [.bodyRefused], ["body_media_type"], .clientApp,
            "A route with body_rules takes application/json in UTF-8, without Content-Encoding.",
            "Send Content-Type: application/json."),
        Row(
            [.requestTimeout], ["request_timeout"], .device,
            "timeouts.request was over while the client was late.",
            "Nothing, if it is rare. Raise timeouts.request for long uploads."),
        Row(
            [.requestTimeout, .clientClosed], ["made_room"], .device,
            "The client stalled while another one waited for its place.",
            "Nothing, if it is rare. Else give the upstream more connections."),
        Row(
            [.clientClosed], ["slow_reader"], .device,
            "The client took too little of the answer.",
            "Nothing, if it is rare: the network is slow."),
        Row(
            [.clientClosed], ["drain_timeout"], .operator,
            "timeouts.drain was over before the answer had ended.",
            "Raise it to what the slowest answers take."),
        Row(
            [.ok, .clientClosed], ["tunnel_timeout"], .none,
            "timeouts.tunnel was over without a byte on the WebSocket.",
            "Nothing, or let client or upstream send pings."),
        Row(
            [.ok], ["tunnel_drained"], .none,
            "A drain, an upgrade or a changed listener closed the WebSocket.",
            "Nothing: the client connects again."),
        Row(
            [.ok, .clientClosed], ["tunnel_broken"], .none,
            "One end of the WebSocket broke the connection.",
            "Nothing, if it is rare."),
        Row(
            [.internalFailure],
            [
                "undecided", "no_route", "endpoint", "identity", "token",
            ], .gateway,
            "The gateway failed at a request that it should have judged.",
            report),
    ]

    static let reasons: [CauseExplanation] = [
        Row([.ok], [], .none, "The request was not refused.", "Nothing."),
        Row(
            [.assertionRequired], [], .clientApp,
            "The route demands an assertion, and the request has none.",
            "Let the app sign its requests to this route. Other clients end here, too."),
        Row(
            [.assertionMalformed], [], .clientApp,
            "The assertion, or a header of it, is malformed.",
            "Correct the app's signing code."),
        Row(
            [.assertionInvalid], [], .clientApp, "The assertion does not hold for this request.",
            "See sallyport explain assertion."),
        Row(
            [.assertionReplayed], [], .clientApp,
            "The assertion was seen before.",
            "Make an assertion for every attempt, also for retries. A replay ends here, too."),
        Row(
            [.challengeExpired], [], .device, "The challenge cannot be used any more.",
            "Nothing, if it is rare: the app signs again."),
        Row(
            [.challengeRequired], [], .clientApp,
            "What the app has signed contains no challenge.",
            "Put a challenge of the gateway into the client data."),
        Row(
            [.requestMismatch], [], .clientApp, "The request is not the signed one.",
            "Sign what is sent."),
        Row(
            [.bodyMismatch], [], .clientApp, "The body is not the signed one.",
            "Sign the hash of the bytes that are sent."),
        Row(
            [.keyUnknown], [], .device,
            "The key is not enrolled here.",
            "Nothing, if it is rare: the app enrols a new key. Else the registry has lost keys, or "
                + "apps use keys of another server."),
        Row(
            [.keyRevoked], [], .operator,
            "The operator has revoked the key.",
            "Nothing: sallyport keys show says when."),
        Row(
            [.installationRevoked], [], .operator,
            "The app brings the ticket of an installation whose newest key is revoked.",
            "Nothing, if that was meant. Otherwise the app has to forget its ticket."),
        Row(
            [.appOutdated], [], .device, "The app is older than the route takes.",
            "The user has to update the app."),
        Row(
            [.distributionNotAllowed], [], .clientApp,
            "The route does not take the app, its environment or its distribution.",
            "Compare the route's attest with the app."),
        Row(
            [.attestationInvalid], [], .clientApp,
            "The attestation does not hold for this key, challenge and app.",
            "See sallyport explain attestation."),
        Row(
            [.bodyTooLarge], [], .clientApp,
            "The body is longer than the route allows.",
            "Raise body_max or limits.body, or let the app send less."),
        Row([.rateLimited], [], .clientApp, "Too many requests came.", "See rate_limits."),
        Row([.quotaExhausted], [], .clientApp, "A quota is used up.", "See quotas."),
        Row(
            [.storeUnavailable], [], .store, "A store did not answer.",
            "See the stores with sallyport doctor."),
        Row(
            [.gatewayBusy], [], .operator, "A bound of the gateway was reached.",
            "See what happens at each bound."),
        Row(
            [.tokenInvalid], [], .clientApp, "The token does not hold.",
            "Nothing, if it is rare: the app fetches another one."),
        Row(
            [.riskTooHigh], [], .device,
            "Apple counts more keys on this device than the route allows.",
            "Ask whether the user reinstalls often. See the route's risk."),
        Row(
            [.bodyUnavailable], [], .operator,
            "A proxy does not show the body of the request.",
            "Let the gateway proxy the route, or set attest.body: claimed."),
        Row(
            [.bodyRefused], [], .clientApp, "The route does not take this body.",
            "Compare the body with the route's body_rules."),
        Row(
            [.abuseSuspected], [], .stranger,
            "Too much activity of one user, address, key or device.",
            "See the signals of the line."),
        Row(
            [.deviceTokenInvalid], [], .clientApp, "The DeviceCheck token does not hold.",
            "Generate a token for every request."),
        Row(
            [.badRequest], [], .clientApp, "The request is not valid HTTP.",
            "See what the client sends."),
        Row(
            [.requestTimeout], [], .device,
            "The head or the body arrived too slowly.",
            "Nothing, if it is rare: the network is slow."),
        Row(
            [.notFound], [], .clientApp,
            "Nothing is there.",
            "See sallyport route."),
        Row(
            [.methodNotAllowed], [], .clientApp,
            "The method is not taken here.",
            "See the answer's Allow."),
        Row(
            [.expectationFailed], [], .clientApp, "Expect is not 100-continue.",
            "Let the client leave out Expect."),
        Row(
            [.targetTooLong], [], .clientApp, "Path and query are too long.",
            "Shorten them, or raise limits.target."),
        Row(
            [.headTooLarge], [], .clientApp, "The headers are too many or too long.",
            "Shorten them, or raise limits.head and limits.fields."),
        Row(
            [.notImplemented], [], .clientApp, "The gateway does not do this.",
            "See what the client sends."),
        Row(
            [.versionNotSupported], [], .clientApp, "Neither HTTP/1.1 nor HTTP/1.0 was spoken.",
            "See what the client sends."),
        Row(
            [.upstreamFailed], [], .upstream, "The upstream failed.", "See the upstream's log."),
        Row(
            [.upstreamBusy], [], .upstream, "Too many requests are under way to the upstream.",
            "Give the upstream more servers or connections."),
        Row(
            [.upstreamTimeout], [], .upstream, "The upstream did not answer in time.",
            "See the upstream's log."),
        Row(
            [.clientClosed], [], .device,
            "The client closed the connection before the answer had ended.",
            "Nothing, if it is rare. Else answers are too slow for the app."),
        Row([.internalFailure], [], .gateway, "The gateway failed.", report),
        Row(
            [.loopDetected], [], .operator,
            "The request has come back to the gateway that had forwarded it.",
            "Correct upstreams: an address leads back to the gateway."),
    ]
}
